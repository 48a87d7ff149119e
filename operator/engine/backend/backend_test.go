package backend

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		"an escaped way out":              {"file://" + own + "/%2e%2e/other", "absolute path without a query"},
		"a query":                         {"file://" + own + "?metadata=skip", "absolute path without a query"},
		"a link out":                      {"file://" + own + "/absolute/new", "use file://" + own},
		"a relative link out":             {"file://" + own + "/relative/new", "use file://" + own},
		"a scheme in capitals":            {"FILE://" + root + "/other", "must begin with one of file://"},
		"a scheme with one slash":         {"file:" + root + "/other", "must begin with one of file://"},
		"a scheme of the library's":       {"blob+file://" + root + "/other", "must begin with one of file://"},
		"a password in what is no scheme": {"ftp://user:canary@host", "must begin with one of file://"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			chosen := map[string]Choice{
				"spec":        {Stack: "dev", Folder: own, Address: c.backend},
				"environment": {Stack: "dev", Folder: own, Env: map[string]string{"PULUMI_BACKEND_URL": c.backend}},
			}
			for via, choice := range chosen {
				if _, err := choice.Locate(); err == nil || !strings.Contains(err.Error(), c.message) || strings.Contains(err.Error(), "canary") {
					t.Errorf("by %s: error %v, want one that holds %q", via, err, c.message)
				}
			}
		})
	}
}

func TestLocate(t *testing.T) {
	root := t.TempDir()
	own := filepath.Join(root, "own")
	for name, c := range map[string]struct {
		choice Choice
		want   Backend
	}{
		"the folder itself":          {Choice{Folder: own, Address: "file://" + own}, Backend{"file://" + own + "?metadata=skip", "."}},
		"with a slash":               {Choice{Folder: own, Address: "file://" + own + "/"}, Backend{"file://" + own + "?metadata=skip", "."}},
		"a folder below":             {Choice{Folder: own, Address: "file://" + own + "/a/b"}, Backend{"file://" + own + "/a/b?metadata=skip", "a/b"}},
		"a bucket":                   {Choice{Folder: own, Address: "gs://bucket"}, Backend{Address: "gs://bucket"}},
		"the environment's":          {Choice{Env: map[string]string{"PULUMI_BACKEND_URL": Default}}, Backend{Address: Default}},
		"the address before it":      {Choice{Address: "gs://a", Env: map[string]string{"PULUMI_BACKEND_URL": Default}}, Backend{Address: "gs://a"}},
		"the default with its token": {Choice{Env: map[string]string{"PULUMI_ACCESS_TOKEN": "canary"}}, Backend{}},
	} {
		if got, err := c.choice.Locate(); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("Locate made %v (%v)", left, err)
	}
	for want, choice := range map[string]Choice{
		"no file backend is allowed here: use one of https://": {Address: "file://" + own},
		"no backend for stack":                                 {Stack: "dev"},
	} {
		if _, err := choice.Locate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one that holds %q", err, want)
		}
	}
}
