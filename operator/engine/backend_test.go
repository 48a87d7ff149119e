package engine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine"
)

func TestFileBackendsOutsideOfTheirFolderAreRefused(t *testing.T) {
	root := t.TempDir()
	own := filepath.Join(root, "own")
	for _, dir := range []string{own, filepath.Join(root, "other")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"absolute": filepath.Join(root, "other"), "relative": "../other"} {
		if err := os.Symlink(target, filepath.Join(own, link)); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct{ backend, message string }{
		"another's folder":                {"file://" + root + "/other", "use file://" + own},
		"the folder above":                {"file://" + root, "use file://" + own},
		"a name that begins like it":      {"file://" + own + "2", "use file://" + own},
		"a way out":                       {"file://" + own + "/a/../../other", "use file://" + own},
		"an escaped way out":              {"file://" + own + "/%2e%2e/other", "absolute path and nothing else"},
		"a query":                         {"file://" + own + "?metadata=skip", "absolute path and nothing else"},
		"a link out":                      {"file://" + own + "/absolute/new", "use file://" + own},
		"a relative link out":             {"file://" + own + "/relative/new", "use file://" + own},
		"a scheme in capitals":            {"FILE://" + root + "/other", "begins with none of file://"},
		"a scheme with one slash":         {"file:" + root + "/other", "begins with none of file://"},
		"a scheme of the library's":       {"blob+file://" + root + "/other", "begins with none of file://"},
		"a password in what is no scheme": {"ftp://user:canary@host", "begins with none of file://"},
	}
	for name, c := range cases {
		for _, via := range []string{"spec", "environment"} {
			t.Run(name+" by "+via, func(t *testing.T) {
				req := engine.Request{Operation: engine.Up, Project: "shop", Stack: "dev", BackendFolder: own}
				if via == "spec" {
					req.Backend = c.backend
				} else {
					req.Env = map[string]string{"PULUMI_BACKEND_URL": c.backend}
				}
				_, err := (&engine.Engine{WorkDir: t.TempDir()}).Run(t.Context(), req)
				if err == nil || !strings.Contains(err.Error(), c.message) || strings.Contains(err.Error(), "canary") {
					t.Errorf("error %v, want one that holds %q", err, c.message)
				}
				if check := req.CheckBackend(); check == nil || check.Error() != err.Error() {
					t.Errorf("the check says %v, the run %v", check, err)
				}
			})
		}
	}
	if left, err := filepath.Glob(filepath.Join(root, "other", "*")); err != nil || len(left) > 0 {
		t.Errorf("%v were made (%v)", left, err)
	}
}

func TestBackendsThatMayBeUsed(t *testing.T) {
	root := t.TempDir()
	own := filepath.Join(root, "own")
	for _, address := range []string{"file://" + own, "file://" + own + "/", "file://" + own + "/a/b", "gs://bucket", "https://api.pulumi.com"} {
		if err := (engine.Request{Backend: address, BackendFolder: own}).CheckBackend(); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("a check made %v (%v)", left, err)
	}
	err := (engine.Request{Backend: "file://" + own}).CheckBackend()
	if err == nil || !strings.Contains(err.Error(), "no file backend is allowed here: use one of https://") {
		t.Errorf("error %v, want one that names what is allowed", err)
	}
}
