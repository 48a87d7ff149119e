package repository

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/lifecycle"
)

// change replaces text in a file of a repository.
func change(t *testing.T, dir, name, before, after string) {
	t.Helper()
	file := filepath.Join(dir, name)
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(content), before, after, 1)
	if changed == string(content) {
		t.Fatalf("%s does not contain %q", name, before)
	}
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestProgramsThatStrataDoesNotContain lists the changes after which strata compiles and runs the repository's program. It
// must never run its own program in place of one that somebody changed.
func TestProgramsThatStrataDoesNotContain(t *testing.T) {
	for name, each := range map[string]struct {
		change func(t *testing.T, dir string)
		want   string
	}{
		"a changed program": {func(t *testing.T, dir string) { change(t, dir, "bootstrap/main.go", "return nil", "return err") }, "bootstrap/main.go was changed"},
		"a removed program": {func(t *testing.T, dir string) { remove(t, dir, "bootstrap/main.go") }, "bootstrap/main.go does not exist"},
		"a second file":     {func(t *testing.T, dir string) { add(t, dir, "bootstrap/init.go", "package main\n") }, "bootstrap/init.go was added"},
		"another Strata": {func(t *testing.T, dir string) {
			add(t, dir, "go.mod", "module acme\nrequire "+Module+" v0.1.0\nreplace "+Module+" => ../fork\n")
		}, "go.mod replaces Strata's module"},
		"a test":                 {func(t *testing.T, dir string) { add(t, dir, "bootstrap/main_test.go", "package main\n") }, ""},
		"the other layer's file": {func(t *testing.T, dir string) { add(t, dir, "platform/extra.go", "package main\n") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := organisation(t)
			each.change(t, dir)
			if p, err := At(dir).Program(lifecycle.BootstrapLayer); err != nil || p.Own != each.want {
				t.Errorf("the program is the organisation's own because %q, %v; want %q", p.Own, err, each.want)
			}
		})
	}
}

func TestProjectsThatPulumiWouldRunInAnotherWay(t *testing.T) {
	for name, each := range map[string][2]string{
		"another language": {"runtime: go", "runtime: yaml"},
		"a built program":  {"runtime: go", "runtime: {name: go, options: {binary: ./evil}}"},
		"another folder":   {"runtime: go", "runtime: go\nmain: ../elsewhere"},
		"another project":  {"name: strata-bootstrap", "name: other"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := organisation(t)
			change(t, dir, "bootstrap/Pulumi.yaml", each[0], each[1])
			if _, err := At(dir).Program(lifecycle.BootstrapLayer); err == nil || !strings.Contains(err.Error(), "must have the name strata-bootstrap, the runtime go and no main") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestReadingARepositoryRunsNothing puts programs where Go and Git would find them.
func TestReadingARepositoryRunsNothing(t *testing.T) {
	dir := organisation(t)
	bin, ran := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	for _, name := range []string{"go", "git", "pulumi"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\ntouch '"+ran+"'\n"), 0o700); err != nil { //nolint:gosec // A command.
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	add(t, dir, "bootstrap/evil.go", "package main\n\nfunc init() { panic(1) }\n")
	r, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := r.Program(lifecycle.BootstrapLayer); err != nil || p.Own == "" {
		t.Errorf("the program is %+v, %v", p, err)
	}
	if _, err := r.Compare(thisVersion); err != nil {
		t.Error(err)
	}
	if err := r.CheckPins(thisVersion); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program ran")
	}
}

func TestPinsOfAnotherStrataAreRefused(t *testing.T) {
	for name, each := range map[string]struct{ file, before, after, want string }{
		"a newer one":           {"strata.yaml", "strata: v0.1.0", "strata: v0.2.0", "this is the older strata v0.1.0: install the pinned one"},
		"an older one":          {"strata.yaml", "strata: v0.1.0", "strata: v0.0.1", "pins Strata v0.0.1, and this is strata v0.1.0"},
		"another module":        {"go.mod", "strata v0.1.0", "strata v0.0.1", "go.mod requires Strata v0.0.1, and strata.yaml pins v0.1.0"},
		"no module":             {"go.mod", Module + " v0.1.0", "example.com/x v1.0.0", "does not require " + Module},
		"a commit that differs": {"strata.yaml", "commit: ", "commit: '0123456789abcdef0123456789abcdef01234567' #", "pins the commit 0123456789abcdef0123456789abcdef01234567 of layer 3"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := organisation(t)
			change(t, dir, each.file, each.before, each.after)
			if err := At(dir).CheckPins(thisVersion); err == nil || !strings.Contains(err.Error(), each.want) {
				t.Errorf("the error is %v, want %q", err, each.want)
			}
		})
	}
}

func TestAnUpgradeWritesThePinsAndNothingElse(t *testing.T) {
	dir := organisation(t)
	change(t, dir, "strata.yaml", "https://github.com/strata-platform/strata", "https://mirror.example.com/strata")
	change(t, dir, "strata.yaml", "flux: v", "flux: v0.9.0 #")
	change(t, dir, "go.mod", ")\n", "\texample.com/own v1.2.3\n)\n")
	change(t, dir, "bootstrap/main.go", "return nil", "return err")
	r, before := At(dir), tree(t, dir)
	const next = "v0.3.0"
	compared, err := r.Compare(next)
	if err != nil {
		t.Fatal(err)
	}
	want := []Difference{{"strata", "v0.1.0", next}, {"module in go.mod", "v0.1.0", next}}
	if len(compared.Changes) != 3 || compared.Changes[0] != want[0] || compared.Changes[1] != want[1] || compared.Changes[2].Name != "flux" || compared.Changes[2].Pinned != "v0.9.0" {
		t.Errorf("the changes are %v", compared.Changes)
	}
	if after := tree(t, dir); len(after) != len(before) || after[filepath.Join(dir, "strata.yaml")] != before[filepath.Join(dir, "strata.yaml")] {
		t.Error("Compare changed files")
	}
	if _, err := r.Upgrade(next); err != nil {
		t.Fatal(err)
	}
	for name, content := range tree(t, dir) {
		base := filepath.Base(name)
		if content != before[name] && base != "strata.yaml" && base != "go.mod" {
			t.Errorf("the upgrade changed %s", name)
		}
	}
	if err := r.CheckPins(next); err != nil {
		t.Error(err)
	}
	pinned, err := r.Pins()
	if err != nil || pinned.Sync.URL != "https://mirror.example.com/strata" {
		t.Errorf("the mirror is now %s, %v", pinned.Sync.URL, err)
	}
	goMod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !strings.Contains(string(goMod), "example.com/own v1.2.3") {
		t.Errorf("go.mod is %s, %v", goMod, err)
	}
	if _, err := r.Upgrade(thisVersion); err == nil || !strings.Contains(err.Error(), "pins a newer Strata") {
		t.Errorf("a downgrade: %v", err)
	}
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func add(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
