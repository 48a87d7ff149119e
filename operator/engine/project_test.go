package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/test/long"
)

// tree is a source with files by name. A content with -> is a link.
type tree map[string]string

func (s tree) Fetch(_ context.Context, dst string) (string, error) {
	for name, content := range s {
		path := filepath.Join(dst, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			if err := os.Symlink(target, path); err != nil {
				return "", err
			}
		} else if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	return "main@1", nil
}

// unavailable is a source whose Fetch fails.
type unavailable struct{ error }

func (s unavailable) Fetch(context.Context, string) (string, error) { return "", s.error }

// fetched returns a request for a project from a source.
func (f fixture) fetched(source engine.Source, path string) engine.Request {
	req := f.request("")
	req.Program, req.Project, req.Source, req.Path = nil, "", source, path
	return req
}

func TestFetchedProjectRunsWithItsOwnSettings(t *testing.T) {
	f := newFixture(t)
	req := f.fetched(tree{
		"app/Pulumi.yaml":     "name: shop\nruntime: {name: yaml}\nmain: program/\n",
		"app/Pulumi.dev.yaml": "config: {shop:size: 1, shop:color: red, mode: fast}\n",
		"app/program/Main.yaml": `
config: {size: {type: integer}, color: {type: string}, mode: {type: string}}
outputs: {size: "${size}", color: "${color}", mode: "${mode}", shared: {fn::readFile: ../../shared/text}}
`,
		"shared/text": "for all",
	}, "/app/")
	req.Config = map[string]json.RawMessage{"size": json.RawMessage("2")}
	result := f.mustRun(t, req)
	for name, want := range map[string]string{"size": "2", "color": `"red"`, "mode": `"fast"`, "shared": `"for all"`} {
		if got := string(result.Outputs[name].Value); got != want {
			t.Errorf("output %s = %s, want %s", name, got, want)
		}
	}
	if result.Project != "shop" || result.Runtime != "yaml" || result.Revision != "main@1" {
		t.Errorf("project %q, runtime %q, revision %q", result.Project, result.Runtime, result.Revision)
	}
}

func TestProjectsThatCannotRun(t *testing.T) {
	f := newFixture(t)
	outside := filepath.Join(t.TempDir(), "Pulumi.yaml")
	if err := os.WriteFile(outside, []byte("name: canary\nruntime: yaml\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const project = "name: shop\nruntime: yaml\n"
	cause := errors.New("its server answers 404")
	cases := map[string]struct {
		source  engine.Source
		path    string
		reason  engine.Reason
		message string
	}{
		"a source that is not there":    {unavailable{cause}, "", engine.SourceUnavailable, "its server answers 404"},
		"no project":                    {tree{"README": ""}, "", engine.ProjectInvalid, "it has no Pulumi.yaml at its root"},
		"no project in the folder":      {tree{"Pulumi.yaml": project}, "app", engine.ProjectInvalid, "it has no Pulumi.yaml in its folder app"},
		"a folder that leads out":       {tree{"Pulumi.yaml": project}, "../x", engine.ProjectInvalid, `its folder "../x" is not a path within the source`},
		"a folder that is absolute":     {tree{"Pulumi.yaml": project}, "/etc", engine.ProjectInvalid, "it has no Pulumi.yaml in its folder etc"},
		"a folder that is a link out":   {tree{"app": "-> " + filepath.Dir(outside)}, "app", engine.ProjectInvalid, "its app/Pulumi.json cannot be read"},
		"a project that is a link out":  {tree{"Pulumi.yaml": "-> " + outside}, "", engine.ProjectInvalid, "its Pulumi.yaml cannot be read"},
		"a project that is a folder":    {tree{"Pulumi.yaml/x": ""}, "", engine.ProjectInvalid, "it is not a regular file"},
		"a project that is too large":   {tree{"Pulumi.yaml": project + "# " + strings.Repeat("x", 3<<20)}, "", engine.ProjectInvalid, "it is larger than"},
		"a project that does not parse": {tree{"Pulumi.yaml": "name: [\n"}, "", engine.ProjectInvalid, "its Pulumi.yaml is not valid"},
		"a project without a name":      {tree{"Pulumi.yaml": "runtime: yaml\n"}, "", engine.ProjectInvalid, "has no name"},
		"a project without a runtime":   {tree{"Pulumi.yaml": "name: shop\n"}, "", engine.ProjectInvalid, "has no runtime"},
		"a runtime that is a path":      {tree{"Pulumi.yaml": "name: shop\nruntime: ../evil\n"}, "", engine.ProjectInvalid, "not the name of a language"},
		"a runtime that is missing":     {tree{"Pulumi.yaml": "name: shop\nruntime: {name: nodejs}\n"}, "", engine.RuntimeMissing, `runtime "nodejs" of project "shop" is not installed`},
		"a runtime that is a list":      {tree{"Pulumi.yaml": "name: shop\nruntime: [yaml]\n"}, "", engine.ProjectInvalid, "runtime is neither a name"},
		"a runtime that runs a command": {tree{"app/Pulumi.yaml": "name: shop\nruntime: {name: yaml, options: {compiler: sh -c 'touch made'}}\n"}, "app", engine.ProjectInvalid, "its app/Pulumi.yaml sets runtime.options.compiler"},
		"a main that is not there":      {tree{"app/Pulumi.yaml": project + "main: src\n"}, "app", engine.ProjectInvalid, `its app/Pulumi.yaml sets main to "src", which does not exist`},
		"a main that leads out":         {tree{"Pulumi.yaml": project + "main: ../other\n"}, "", engine.ProjectInvalid, `its Pulumi.yaml sets main to "../other", which is not among the project's files`},
		"a main that is absolute":       {tree{"Pulumi.yaml": project + "main: /etc\n"}, "", engine.ProjectInvalid, `its Pulumi.yaml sets main to "/etc", which is not among the project's files`},
		"a main that is a link out":     {tree{"Pulumi.yaml": project + "main: app\n", "app": "-> " + filepath.Dir(outside)}, "", engine.ProjectInvalid, `its Pulumi.yaml sets main to "app", which is not among the project's files`},
		"settings that do not parse":    {tree{"Pulumi.yaml": project, "Pulumi.dev.yaml": "config: [1]\n"}, "", engine.ProjectInvalid, "config is not a map"},
		"settings that are a link out":  {tree{"Pulumi.yaml": project, "Pulumi.dev.yaml": "-> " + outside}, "", engine.ProjectInvalid, "its Pulumi.dev.yaml cannot be read"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := f.run(t, f.fetched(c.source, c.path))
			var failure *engine.Error
			if !errors.As(err, &failure) || failure.Reason != c.reason || !strings.Contains(failure.Message, c.message) {
				t.Fatalf("error %v, want %s: ...%s...", err, c.reason, c.message)
			}
			if strings.Contains(failure.Message, "canary") || strings.Contains(failure.Message, "\n") {
				t.Errorf("message %q tells what lies outside, or has more than a line", failure.Message)
			}
			if (c.reason == engine.SourceUnavailable) != errors.Is(err, cause) {
				t.Errorf("the cause of %v is lost", err)
			}
		})
	}
	left, err := os.ReadFile(outside)
	if err != nil || !strings.Contains(string(left), "canary") {
		t.Errorf("what lies outside is now %q (%v)", left, err)
	}
}

func TestProjectOfAnotherNameThanTheStackIsRefused(t *testing.T) {
	f := newFixture(t)
	req := f.fetched(tree{"Pulumi.yaml": "name: other\nruntime: yaml\n"}, "")
	req.Project = "shop"
	if _, err := f.run(t, req); err == nil || !strings.Contains(err.Error(), `names the project "other", but the stack belongs to "shop"`) {
		t.Errorf("error %v, want one that names both projects", err)
	}
}

func TestFetchedProjectReadsNothingOutside(t *testing.T) {
	long.Test(t)
	confined(t)
	f := newFixture(t)
	outside := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(outside, []byte("canary-4711"), 0o600); err != nil {
		t.Fatal(err)
	}
	program := func(more string) string { return "name: shop\nruntime: yaml\n" + more }
	cases := map[string]tree{
		"by a link":                {"Pulumi.yaml": program(reading("link")), "link": "-> " + outside},
		"by a link of a folder":    {"Pulumi.yaml": program(reading("folder/key")), "folder": "-> " + filepath.Dir(outside)},
		"by an asset's link":       {"Pulumi.yaml": program("outputs: {content: {fn::fileAsset: ./link}}\n"), "link": "-> " + outside},
		"by a main that leads out": {"Pulumi.yaml": program("main: " + filepath.Dir(outside) + "\n")},
		"by a plugin of its own": {
			"Pulumi.yaml":               program("plugins: {providers: [{name: evil, path: ./evil}]}\nresources: {a: {type: evil:index:Thing}}\n"),
			"evil/pulumi-resource-evil": "#!/bin/sh\ncat " + outside + "\n",
		},
	}
	for name, source := range cases {
		t.Run(name, func(t *testing.T) {
			result, err := f.run(t, f.fetched(source, ""))
			if said := fmt.Sprint(result, err); strings.Contains(said, "canary-4711") {
				t.Errorf("the run read what lies outside: %s", said)
			}
			if err == nil && !strings.Contains(name, "asset") {
				t.Error("the run succeeded")
			}
		})
	}
}
