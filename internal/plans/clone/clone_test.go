package clone_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/plans"
	"github.com/strata-platform/strata/internal/plans/clone"
	"github.com/strata-platform/strata/operator/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	trial.Main()
	sandboxtest.Main(m)
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.Command("git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", args[0], err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

const manifests = `
apiVersion: pulumi.com/v1
kind: Stack
metadata: {name: infra}
spec: {programRef: {name: infra}, stack: '${size}', configRef: {"a:b": {name: settings, key: k}}, envs: [variables]}
---
apiVersion: pulumi.com/v1
kind: Program
metadata: {name: infra}
program: {resources: {}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {k: v}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: variables}, data: {k: v}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: unread}, data: {k: v}}
---
{apiVersion: v1, kind: Secret, metadata: {name: settings}, stringData: {k: canary}}
---
{apiVersion: v1, kind: Service, metadata: {name: web}}
`

// repository returns a clone on branch feature/Über with one commit.
func repository(t *testing.T, files map[string]string) (dir string, opened *clone.Clone) {
	t.Helper()
	dir = t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=feature/Über")
	for name, content := range files {
		write(t, dir, name, content)
	}
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "--message=x")
	opened, err := clone.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir, opened
}

func sync(name string, spec trial.Sync) plans.Sync {
	return plans.Sync{Namespace: "team-web", Name: name, Source: "web", Account: "web", Spec: spec}
}

func TestAPlanContainsWhatTheOperatorNeedsAndNoSecret(t *testing.T) {
	dir, opened := repository(t, map[string]string{"app/a.yaml": manifests, "infra/b.yaml": strings.ReplaceAll(manifests, "infra", "other")})
	commit, err := opened.Commit(t.Context(), "")
	if err != nil || commit.Branch != "feature/Über" || commit.ID != git(t, dir, "rev-parse", "HEAD") {
		t.Fatalf("commit %+v, %v", commit, err)
	}
	made, err := opened.Plans(t.Context(), commit, []plans.Sync{
		sync("web", trial.Sync{"path": "./app", "targetNamespace": "team-web", "postBuild": map[string]any{"substitute": map[string]any{"size": "small"}}}),
		sync("infra", trial.Sync{"path": "./infra", "targetNamespace": "team-web", "patches": []any{
			map[string]any{"target": map[string]any{"kind": "Stack"}, "patch": "- {op: add, path: /spec/refresh, value: true}"},
		}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"feature-ber-" + commit.ID[:10], "feature-ber-infra-" + commit.ID[:10]} {
		if p := made[i]; p.Name != want || p.Namespace != "team-web" || p.Spec.Commit != commit.ID || p.Spec.Branch != "feature/Über" || p.Spec.Account != "web" {
			t.Errorf("Plan %s/%s of %+v", p.Namespace, p.Name, p.Spec)
		}
	}
	text := made[0].Spec.Manifests
	for _, want := range []string{"kind: Stack", "stack: small", "kind: Program", "name: settings", "name: variables", "namespace: team-web"} {
		if !strings.Contains(text, want) {
			t.Errorf("the manifests lack %q:\n%s", want, text)
		}
	}
	if !strings.Contains(made[1].Spec.Manifests, "name: other") || !strings.Contains(made[1].Spec.Manifests, "refresh: true") || made[1].Spec.Sync != "infra" {
		t.Errorf("the second sync: %+v", made[1].Spec)
	}
	for _, never := range []string{"canary", "kind: Secret", "kind: Service", "name: unread"} {
		if strings.Contains(text, never) {
			t.Errorf("the manifests contain %q:\n%s", never, text)
		}
	}
}

func TestACommitIsFoundByItsNames(t *testing.T) {
	dir, opened := repository(t, map[string]string{"a.yaml": manifests})
	git(t, dir, "branch", "other")
	git(t, dir, "tag", "v1")
	git(t, dir, "update-ref", "refs/remotes/origin/theirs", "HEAD")
	head := git(t, dir, "rev-parse", "HEAD")
	for name, branch := range map[string]string{"": "feature/Über", "other": "other", "v1": "", head: "", head[:8]: "", "origin/theirs": "theirs", "HEAD~0": ""} {
		commit, err := opened.Commit(t.Context(), name)
		if err != nil || commit.ID != head || commit.Branch != branch {
			t.Errorf("%q is %+v, %v; want branch %q", name, commit, err, branch)
		}
	}
	for _, name := range []string{"none", "--help", "--output=x", "HEAD:a.yaml", "-"} {
		if commit, err := opened.Commit(t.Context(), name); err == nil {
			t.Errorf("%q is %+v", name, commit)
		}
	}
	if _, err := clone.Open(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "is in no clone") {
		t.Errorf("a folder without a clone: %v", err)
	}
}

func TestUncommittedFilesAreCounted(t *testing.T) {
	dir, opened := repository(t, map[string]string{"a.yaml": manifests})
	if count, err := opened.Uncommitted(t.Context()); err != nil || count != 0 {
		t.Errorf("%d, %v", count, err)
	}
	write(t, dir, "a.yaml", "changed")
	write(t, dir, "new/b.yaml", "new")
	if count, err := opened.Uncommitted(t.Context()); err != nil || count != 2 {
		t.Errorf("%d, %v", count, err)
	}
}

func TestACommitWithoutAPlanSaysWhy(t *testing.T) {
	large := "apiVersion: pulumi.com/v1\nkind: Program\nmetadata: {name: infra}\nprogram: {description: '" + strings.Repeat("x", 950_000) + "'}\n"
	for name, tc := range map[string]struct {
		files map[string]string
		sync  plans.Sync
		want  string
	}{
		"an address":                {map[string]string{"kustomization.yaml": "resources: [http://host/x]"}, sync("web", nil), "the Git server rejects it"},
		"a missing file":            {map[string]string{"kustomization.yaml": "resources: [none.yaml]"}, sync("web", nil), "Flux cannot build the commit"},
		"too large manifests":       {map[string]string{"a.yaml": large}, sync("web", nil), "more than 900000 bytes"},
		"a sync without an account": {map[string]string{"a.yaml": manifests}, plans.Sync{Namespace: "team-web", Name: "web", Source: "web"}, "names no service account"},
		"variables of Secrets": {
			map[string]string{"a.yaml": manifests},
			sync("web", trial.Sync{"postBuild": map[string]any{"substituteFrom": []any{map[string]any{"kind": "Secret", "name": "x"}}}}), "which a Plan must not read",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, opened := repository(t, tc.files)
			commit, err := opened.Commit(t.Context(), "")
			if err != nil {
				t.Fatal(err)
			}
			if tc.sync.Spec == nil {
				tc.sync.Spec = trial.Sync{"path": "./"}
			}
			if made, err := opened.Plans(t.Context(), commit, []plans.Sync{tc.sync}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, %v", made, err)
			}
		})
	}
}

// TestAHostileCloneStartsNoProgram has settings of a clone that name a program.
func TestAHostileCloneStartsNoProgram(t *testing.T) {
	dir, _ := repository(t, map[string]string{"a.yaml": manifests})
	ran := filepath.Join(t.TempDir(), "ran")
	program := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{"core.fsmonitor", "core.sshCommand", "core.pager", "diff.external", "core.editor"} {
		git(t, dir, "config", setting, program)
	}
	opened, err := clone.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	commit, err := opened.Commit(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := opened.Uncommitted(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := opened.Plans(t.Context(), commit, []plans.Sync{sync("web", trial.Sync{"path": "./"})}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the clone's settings ran")
	}
}
