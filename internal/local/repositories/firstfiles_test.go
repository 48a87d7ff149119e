package repositories

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

// example returns the folder of the first files in a team's repository.
func example(t *testing.T) string {
	t.Helper()
	return filepath.Join(toolchaintest.Root(t), FirstTeamFiles)
}

// text returns a field of the first object of a kind.
func text(t *testing.T, file, kind string, path ...string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 1<<10); ; {
		var object unstructured.Unstructured
		if err := documents.Decode(&object.Object); errors.Is(err, io.EOF) {
			t.Fatalf("%s has no %s", file, kind)
		} else if err != nil {
			t.Fatal(err)
		}
		if object.GetKind() == kind {
			name, _, err := unstructured.NestedString(object.Object, path...)
			if err != nil {
				t.Fatal(err)
			}
			return name
		}
	}
}

func TestRepositoryOfATeamBeginsWithItsOwnAccount(t *testing.T) {
	longest := strings.Repeat("a", 25)
	for _, team := range []string{"web", "api", "on", "n-1", longest} {
		folder := t.TempDir()
		if err := writeFirstFiles(os.DirFS(example(t)), folder, team, nil); err != nil {
			t.Fatal(err)
		}
		pod := text(t, filepath.Join(folder, "wordpress.yaml"), "Deployment", "spec", "template", "spec", "serviceAccountName")
		if pod != team {
			t.Errorf("in the repository of team %s the pod runs as %q", team, pod)
		}
		database := text(t, filepath.Join(folder, "app-infra.yaml"), "Program", "program", "resources", "database", "properties", "name")
		user := text(t, filepath.Join(folder, "app-infra.yaml"), "Program", "program", "resources", "user", "properties", "name")
		if database != team+"_wordpress" || user != team || len(user) > 32 {
			t.Errorf("the database of team %s is %q, its user %q: the teams share an instance", team, database, user)
		}
		if _, err := os.Stat(filepath.Join(folder, "kustomization.yaml")); err != nil {
			t.Error(err)
		}
	}
}

func TestRepositoryOfATeamDoesNotNameTheExamplesTeam(t *testing.T) {
	folder := t.TempDir()
	if err := writeFirstFiles(os.DirFS(example(t)), folder, "shop", nil); err != nil {
		t.Fatal(err)
	}
	named := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(content), "\n") {
			if exampleWord.MatchString(strings.ToLower(line)) {
				t.Errorf("%s:%d names the team %s: %s", entry.Name(), i+1, exampleTeam, line)
			}
			named += strings.Count(line, "shop")
		}
		return nil
	})
	if err != nil || named == 0 {
		t.Errorf("error %v, and the team's own name is there %d times", err, named)
	}
}

func TestExampleWithoutAnAccountFillsNoRepository(t *testing.T) {
	changed := t.TempDir()
	if err := os.CopyFS(changed, os.DirFS(example(t))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(changed, "wordpress.yaml"), []byte("kind: Deployment\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeFirstFiles(os.DirFS(changed), t.TempDir(), "api", nil); err == nil || !strings.Contains(err.Error(), "wordpress.yaml of examples/wordpress sets no serviceAccountName") {
		t.Errorf("error %v, want one that names the file and the field", err)
	}
}
