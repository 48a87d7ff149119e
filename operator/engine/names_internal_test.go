package engine

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine/project"
	"github.com/strata-platform/strata/operator/environ"
)

func TestNamesThatWouldBeOptionsOrPathsAreRefused(t *testing.T) {
	for _, name := range []string{"", "-x", "--help", ".", "..", ".x", "a/-x", "../x", "a/../x", "/x", "a/b/c/d", "a b", "a\n", "a\x00", "d\u0435v", strings.Repeat("a", 101)} {
		if (Request{Operation: Up, Project: "p", Stack: name}).validate() == nil {
			t.Errorf("%q passes as the name of a stack", name)
		}
		if project.ValidName(name) {
			t.Errorf("%q passes as the name of a project", name)
		}
	}
	for _, name := range []string{"", "A=B", "A\x00", "A\nB", "\u0410", "LD_PRELOAD", "PATH", "KUBECONFIG"} {
		if environ.Check(name) == nil {
			t.Errorf("%q passes as the name of a variable", name)
		}
	}
	for _, r := range []Request{
		{Targets: []string{"urn\x00--remove"}}, {Path: "a\x00"}, {SecretsProvider: "a\x00"},
		{Options: Options{Message: "a\x00"}}, {Options: Options{Replace: []string{"a\x00"}}},
	} {
		r.Operation, r.Project, r.Stack = Up, "p", "dev"
		if r.validate() == nil {
			t.Errorf("%+v passes with a zero byte", r)
		}
	}
}

// FuzzNames looks for an accepted stack name, project name, variable name, path or backend that would act as an option, as
// another path or as another variable.
func FuzzNames(f *testing.F) {
	f.Add("dev", "shop", "infra", "TZ", "file:///state/team-web")
	f.Add("-x", "..", "../x", "A=B", "file:///state/team-web/../team-hr")
	f.Add("a/../b", "a/b", "a\x00b", "LD_PRELOAD", "file:///state/team-web?no_tmp_dir=true")
	f.Add("..", "-x", "/etc", "A\nB", "file:///state/team-web/%2e%2e/team-hr")
	f.Add("org/x/dev", "a b", "a/../../b", "PATH", "FILE:///etc")
	f.Add(strings.Repeat("a", 101), "\u0430", `..\x`, "\u0410", "file://host/state")
	state := f.TempDir()
	f.Fuzz(func(t *testing.T, stack, name, folder, variable, address string) {
		if (Request{Operation: Up, Project: "p", Stack: stack}).validate() == nil {
			for part := range strings.SplitSeq(stack, "/") {
				if part == "" || len(part) > 100 || part[0] == '-' || part[0] == '.' || path.Base(part) != part || strings.ContainsAny(part, "\x00\n\\ ") {
					t.Errorf("%q passes as the name of a stack", stack)
				}
			}
		}
		if project.ValidName(name) {
			if below := filepath.Join("a", "b", name); filepath.Dir(below) != filepath.Join("a", "b") || filepath.Base(below) != name || name[0] == '-' {
				t.Errorf("%q passes as the name of a project", name)
			}
		}
		if environ.Check(variable) == nil && (variable == "" || strings.ContainsAny(variable, "=\x00\n") || strings.HasPrefix(variable, "LD_")) {
			t.Errorf("%q passes as the name of a variable", variable)
		}
		address = strings.Replace(address, "/state", state, 1)
		if b, err := (Request{Stack: "dev", Backend: address, BackendFolder: filepath.Join(state, "team-web")}).backend(); err == nil && strings.HasPrefix(strings.ToLower(b.Address), "file:") {
			below, err := filepath.Rel(filepath.Join(state, "team-web"), strings.TrimSuffix(strings.TrimPrefix(b.Address, "file://"), "?metadata=skip"))
			if err != nil || !filepath.IsLocal(below) {
				t.Errorf("%q passes as a backend: %s", address, b.Address)
			}
		}
		root, err := os.OpenRoot(state)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		if found, err := project.Read(root, folder); err == nil || errors.Is(err, os.ErrPermission) {
			t.Errorf("%q leads to a project: %v", folder, found)
		}
	})
}
