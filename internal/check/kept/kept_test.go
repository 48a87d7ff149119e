package kept_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/check/kept"
	"github.com/strata-platform/strata/internal/check/teamfile"
)

// pets is a package with the form of the package of the same name.
const pets = `{"name": "random", "resources": {"random:index/randomPet:RandomPet": {"inputProperties": {"length": {"type": "integer", "description": "Words."}}}}}`

const list = "apiVersion: strata/v1\nkind: Teams\nteams:\n- name: web\n  allow: ['random:*']\n- name: shop\ncatalogue:\n- name: database\n"

func put(t *testing.T, name, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// clone returns a clone with the files of team web, the list that they come from, and the folder with the schemas.
func clone(t *testing.T) (repository, from, schemas string) {
	t.Helper()
	from = put(t, filepath.Join(t.TempDir(), "teams.yaml"), list)
	schemas = filepath.Dir(put(t, filepath.Join(t.TempDir(), "random-1.0.0.json"), pets))
	repository = t.TempDir()
	files, complete, err := kept.Files(from, "web", schemas)
	if err != nil || !complete {
		t.Fatalf("complete %v, error %v", complete, err)
	}
	if err := kept.Write(repository, files); err != nil {
		t.Fatal(err)
	}
	return repository, from, schemas
}

func outdated(t *testing.T, repository, from, schemas string) string {
	t.Helper()
	team, limits, err := teamfile.Load(teamfile.Source{Repository: repository, File: from, Team: "web"})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(kept.Outdated(repository, limits, from, team, schemas), "\n")
}

func TestTheFilesOfATeamNameItsTypesAndNoOtherTeam(t *testing.T) {
	repository, _, _ := clone(t)
	for name, want := range map[string]string{kept.EntryFile: `"name":"web"`, kept.SchemaFile: "Words."} {
		content, err := os.ReadFile(filepath.Join(repository, name))
		if err != nil || !json.Valid(content) || !strings.Contains(string(content), want) || strings.Contains(string(content), "shop") {
			t.Errorf("%s: error %v, content %.200s", name, err, content)
		}
	}
	if _, _, err := kept.Files(put(t, filepath.Join(t.TempDir(), "teams.yaml"), list), "hr"); err == nil {
		t.Error("a team that the list does not have has files")
	}
}

func TestAnOutdatedFileIsNamed(t *testing.T) {
	rewrite := func(t *testing.T, name string, change func([]byte) []byte) {
		t.Helper()
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		put(t, name, string(change(content)))
	}
	replace := func(old, with string) func([]byte) []byte {
		return func(content []byte) []byte { return bytes.Replace(content, []byte(old), []byte(with), 1) }
	}
	const schema, entry = kept.SchemaFile + " is out of date", kept.EntryFile + " is not the entry of team web in "
	for name, tc := range map[string]struct {
		change func(t *testing.T, repository, from, schemas string)
		// own means a check that finds the list in the repository.
		own  bool
		want []string
	}{
		"new files":           {own: true},
		"new files of a list": {},
		"the platform allows another type": {
			func(t *testing.T, _, from, _ string) {
				rewrite(t, from, replace("['random:*']", "['random:*', 'gcp:sql/*']"))
			}, false, []string{entry, schema},
		},
		"the platform changes another team": {
			func(t *testing.T, _, from, _ string) { rewrite(t, from, replace("- name: shop", "- name: hr")) }, false, nil,
		},
		"the team refreshes only its entry": {
			func(t *testing.T, repository, _, _ string) {
				rewrite(t, filepath.Join(repository, kept.EntryFile), replace("random:*", "gcp:sql/*"))
			}, true, []string{schema},
		},
		"a package has another property": {
			func(t *testing.T, _, _, schemas string) {
				rewrite(t, filepath.Join(schemas, "random-1.0.0.json"), replace("length", "words"))
			}, true, []string{schema},
		},
		"a schema that is no JSON": {
			func(t *testing.T, repository, _, _ string) { put(t, filepath.Join(repository, kept.SchemaFile), "[") }, true, []string{schema},
		},
		"no packages here": {
			func(_ *testing.T, _, _, schemas string) { os.Remove(filepath.Join(schemas, "random-1.0.0.json")) }, true, nil,
		},
		"a repository without a schema": {
			func(_ *testing.T, repository, _, _ string) { os.Remove(filepath.Join(repository, kept.SchemaFile)) }, true, nil,
		},
		"a formatted schema": {
			func(t *testing.T, repository, _, _ string) {
				rewrite(t, filepath.Join(repository, kept.SchemaFile), func(content []byte) []byte {
					var made bytes.Buffer
					if err := json.Indent(&made, content, "", "  "); err != nil {
						t.Fatal(err)
					}
					return made.Bytes()
				})
			}, true, nil,
		},
		"an order that only the platform knows": {
			func(t *testing.T, repository, _, _ string) {
				rewrite(t, filepath.Join(repository, kept.SchemaFile), replace(`"definitions":{`, `"definitions":{"Queue":{},`))
			}, true, nil,
		},
		"a huge schema": {
			func(t *testing.T, repository, _, _ string) {
				if err := os.Truncate(filepath.Join(repository, kept.SchemaFile), 1<<40); err != nil {
					t.Fatal(err)
				}
			}, true, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			repository, from, schemas := clone(t)
			if tc.change != nil {
				tc.change(t, repository, from, schemas)
			}
			if tc.own {
				from = ""
			}
			got := outdated(t, repository, from, schemas)
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("the notes are %q, want %q", got, want)
				}
			}
			if len(tc.want) == 0 && got != "" {
				t.Errorf("the notes are %q, want none", got)
			}
		})
	}
}

func TestWritingNewFilesRemovesTheNotes(t *testing.T) {
	repository, from, schemas := clone(t)
	put(t, from, strings.Replace(list, "'random:*'", "'gcp:sql/*'", 1))
	files, _, err := kept.Files(from, "web", schemas)
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.Write(repository, files); err != nil {
		t.Fatal(err)
	}
	if got := outdated(t, repository, from, schemas) + outdated(t, repository, "", schemas); got != "" {
		t.Errorf("the notes are %q", got)
	}
}

// TestARepositoryDoesNotChooseTheWrittenFile links the folder or the files to a file of the user.
func TestARepositoryDoesNotChooseTheWrittenFile(t *testing.T) {
	for name, link := range map[string]func(repository, outside string) (at, to string){
		"the folder": func(repository, outside string) (string, string) {
			return filepath.Join(repository, teamfile.Folder), outside
		},
		"a folder of git": func(repository, _ string) (string, string) { return filepath.Join(repository, teamfile.Folder), ".git" },
		"a file": func(repository, outside string) (string, string) {
			return filepath.Join(repository, kept.SchemaFile), filepath.Join(outside, "schema.json")
		},
		"an unfinished file": func(repository, outside string) (string, string) {
			return filepath.Join(repository, kept.SchemaFile+".part"), filepath.Join(outside, "schema.json")
		},
	} {
		t.Run(name, func(t *testing.T) {
			repository, outside := t.TempDir(), t.TempDir()
			put(t, filepath.Join(outside, "schema.json"), "mine")
			put(t, filepath.Join(repository, ".git", "schema.json"), "mine")
			at, to := link(repository, outside)
			if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(to, at); err != nil {
				t.Fatal(err)
			}
			err := kept.Write(repository, map[string][]byte{kept.SchemaFile: []byte("written")})
			for _, folder := range []string{outside, filepath.Join(repository, ".git")} {
				if content, readErr := os.ReadFile(filepath.Join(folder, "schema.json")); readErr != nil || string(content) != "mine" {
					t.Errorf("the file is %q: %v", content, readErr)
				}
			}
			written, _ := os.ReadFile(filepath.Join(repository, kept.SchemaFile))
			if err == nil && string(written) != "written" {
				t.Errorf("no error, and the file is %q", written)
			}
			if isFolder := strings.Contains(name, "folder"); (err != nil) != isFolder {
				t.Errorf("error %v", err)
			}
		})
	}
}
