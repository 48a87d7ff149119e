package repository

import (
	"bytes"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/teams"
)

const thisVersion = "v0.1.0"

// organisation creates a repository and returns its folder.
func organisation(t *testing.T) string {
	t.Helper()
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	dir := filepath.Join(t.TempDir(), "acme")
	if _, _, err := Create(t.Context(), dir, Options{Version: thisVersion}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestANewRepositoryIsValid(t *testing.T) {
	dir := organisation(t)
	r, err := Find(filepath.Join(dir, "bootstrap"))
	if err != nil || !r.Organisation || r.Root != dir {
		t.Fatalf("it is found as %+v, %v", r, err)
	}
	if err := r.CheckPins(thisVersion); err != nil {
		t.Error(err)
	}
	if _, err := teams.Load(filepath.Join(dir, lifecycle.TeamsFile)); err != nil {
		t.Error(err)
	}
	for _, layer := range []string{lifecycle.BootstrapLayer, lifecycle.PlatformLayer} {
		if p, err := r.Program(layer); err != nil || p.Own != "" || p.Folder != filepath.Join(dir, layer) {
			t.Errorf("the program of layer %s is %+v, %v", layer, p, err)
		}
		content, err := os.ReadFile(filepath.Join(dir, layer, "main.go"))
		if err != nil {
			t.Fatal(err)
		}
		if formatted, err := format.Source(content); err != nil || !bytes.Equal(formatted, content) {
			t.Errorf("main.go of layer %s is not formatted: %v", layer, err)
		}
	}
	for _, name := range []string{".github/workflows/strata.yml", ".gitlab-ci.yml", "sync/kustomization.yaml", "platform/Pulumi.prod.yaml"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		var decoded map[string]any
		if err := yaml.UnmarshalStrict(content, &decoded); err != nil || bytes.Contains(content, []byte("<no value>")) {
			t.Errorf("%s: %v: %s", name, err, content)
		}
		// In YAML, a colon and a space in a command make a mapping of it.
		installs := 0
		eachText(decoded, func(text string) {
			if strings.HasPrefix(text, "go install") {
				installs++
			}
		})
		if isWorkflow := strings.HasSuffix(name, ".yml"); isWorkflow != (installs > 0) {
			t.Errorf("%s installs strata by %d commands", name, installs)
		}
	}
	if u, err := r.Compare(thisVersion); err != nil || len(u.Changes) > 0 {
		t.Errorf("a new repository needs the changes %v, %v", u.Changes, err)
	}
}

// eachText calls see for each string in a decoded document, except keys.
func eachText(value any, see func(string)) {
	switch value := value.(type) {
	case string:
		see(value)
	case []any:
		for _, each := range value {
			eachText(each, see)
		}
	case map[string]any:
		for _, each := range value {
			eachText(each, see)
		}
	}
}

// tree returns the paths of all files below a folder, with their contents.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			content, readErr := os.ReadFile(path)
			found[path], err = string(content), readErr
		} else if err == nil {
			found[path] = entry.Type().String()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestFoldersThatInitRefusesStayAsTheyAre(t *testing.T) {
	for name, each := range map[string]struct {
		prepare func(t *testing.T, dir, elsewhere string) error
		want    string
	}{
		"a folder with a file":           {func(_ *testing.T, dir, _ string) error { return os.WriteFile(filepath.Join(dir, "x"), nil, 0o600) }, "it contains x"},
		"a folder with a Git repository": {func(_ *testing.T, dir, _ string) error { return os.Mkdir(filepath.Join(dir, ".git"), 0o700) }, "it contains .git"},
		"a file": {func(_ *testing.T, dir, _ string) error {
			return firstError(os.Remove(dir), os.WriteFile(dir, nil, 0o600))
		}, "is not a folder"},
		"a symbolic link to an empty folder": {func(_ *testing.T, dir, elsewhere string) error {
			return firstError(os.Remove(dir), os.Symlink(elsewhere, dir))
		}, "is not a folder"},
		"a dangling symbolic link": {func(_ *testing.T, dir, elsewhere string) error {
			return firstError(os.Remove(dir), os.Symlink(filepath.Join(elsewhere, "new"), dir))
		}, "is not a folder"},
		"a folder of another user": {func(t *testing.T, dir, _ string) error {
			if os.Geteuid() != 0 {
				t.Skip("only root gives folders away")
			}
			return os.Chown(dir, 4711, 4711)
		}, "another user (uid 4711) owns the folder"},
		"no parent": {func(_ *testing.T, dir, _ string) error { return os.RemoveAll(filepath.Dir(dir)) }, "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			parent, elsewhere := t.TempDir(), t.TempDir()
			dir := filepath.Join(parent, "below", "acme")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := each.prepare(t, dir, elsewhere); err != nil {
				t.Fatal(err)
			}
			before := tree(t, parent)
			_, _, err := Create(t.Context(), dir, Options{Version: thisVersion})
			if err == nil || !strings.Contains(err.Error(), each.want) || !strings.HasSuffix(err.Error(), "nothing was changed") {
				t.Errorf("the error is %v, want %q", err, each.want)
			}
			if after := tree(t, parent); len(after) != len(before) {
				t.Errorf("the folder was %v and is %v", before, after)
			}
			if left := tree(t, elsewhere); len(left) != 1 {
				t.Errorf("the other folder contains %v", left)
			}
		})
	}
}

func firstError(errs ...error) error {
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if i < 0 {
		return nil
	}
	return errs[i]
}

// TestAnotherUsersRepositoryIsNotUsed lets an attacker put a repository above the folder of the caller, as in /tmp.
func TestAnotherUsersRepositoryIsNotUsed(t *testing.T) {
	dir := organisation(t)
	inside := filepath.Join(dir, "mine", "work")
	if err := os.MkdirAll(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Find(inside); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(filepath.Join(dir, "strata.yaml"), 4711, 4711); err != nil {
			t.Fatal(err)
		}
		if _, err := Find(inside); err == nil || !strings.Contains(err.Error(), "another user (uid 4711) owns "+dir+"/strata.yaml") {
			t.Errorf("the repository of another user is found: %v", err)
		}
	}
	for name, each := range map[string]struct {
		owner, me int
		sudo      string
		want      bool
	}{
		"one's own":                          {1000, 1000, "", true},
		"the administrator's":                {0, 1000, "", true},
		"another user's":                     {1001, 1000, "", false},
		"a user's, for the administrator":    {1000, 0, "", false},
		"the caller's of sudo":               {1000, 0, "1000", true},
		"another one's than the caller's":    {1001, 0, "1000", false},
		"another one's, by a faked SUDO_UID": {1001, 1000, "1001", false},
	} {
		if got := isTrusted(each.owner, each.me, each.sudo); got != each.want {
			t.Errorf("%s repository is trusted: %v", name, got)
		}
	}
}

func TestALinkToAPinIsNoRepository(t *testing.T) {
	dir := organisation(t)
	work := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "strata.yaml"), filepath.Join(work, "strata.yaml")); err != nil {
		t.Fatal(err)
	}
	if r, err := Find(work); err == nil {
		t.Errorf("a link makes %s a repository", r.Root)
	}
}
