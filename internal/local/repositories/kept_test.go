package repositories

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/check"
	"github.com/strata-platform/strata/internal/check/kept"
	"github.com/strata-platform/strata/internal/check/teamfile"
	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/operator/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	trial.Main()
	sandboxtest.Main(m)
}

// filesOf returns the kept files of a team with the defaults of teams.yaml.
func filesOf(t *testing.T, team string) map[string][]byte {
	t.Helper()
	list := filepath.Join(t.TempDir(), "teams.yaml")
	if err := os.WriteFile(list, []byte("apiVersion: strata/v1\nkind: Teams\nteams:\n- name: \""+team+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, _, err := kept.Files(list, team)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestANewRepositoryPassesItsOwnCheck checks the first files as `strata check` does, with what the repository says of the team.
func TestANewRepositoryPassesItsOwnCheck(t *testing.T) {
	for _, team := range []string{"web", "on"} {
		folder := t.TempDir()
		if err := writeFirstFiles(os.DirFS(example(t)), folder, team, filesOf(t, team)); err != nil {
			t.Fatal(err)
		}
		program, err := os.ReadFile(filepath.Join(folder, firstTeamProgram))
		if err != nil || !strings.HasPrefix(string(program), kept.Modeline) {
			t.Errorf("%s begins with %.80q: %v", firstTeamProgram, program, err)
		}
		name, limits, err := teamfile.Load(teamfile.Source{Repository: folder})
		if err != nil || name != team {
			t.Fatalf("the repository belongs to team %q: %v", name, err)
		}
		result, err := check.Run(t.Context(), check.Options{Folder: folder, Team: name, Limits: limits})
		if err != nil || len(result.Findings) > 0 || result.Objects != 5 {
			t.Errorf("team %s: %+v, error %v", team, result, err)
		}
	}
}

// TestOnlyANewRepositoryGetsFilesForChecks fills a repository, and later the same one with other files.
func TestOnlyANewRepositoryGetsFilesForChecks(t *testing.T) {
	dir := t.TempDir()
	h, err := home.At(filepath.Join(dir, "home"))
	if err != nil {
		t.Fatal(err)
	}
	initialise(t, filepath.Join(dir, "web.git"), "--bare")
	r := Repositories{Home: h, Root: dir, Example: os.DirFS(example(t)), URL: "file://" + dir}
	show := func() string {
		content, err := r.git(t.Context(), filepath.Join(dir, "web.git"), "show", "main:"+kept.EntryFile)
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	for _, content := range []string{"first", "second"} {
		r.Kept = func(_ context.Context, team string) (map[string][]byte, error) {
			return map[string][]byte{kept.EntryFile: []byte(content + " of " + team + "\n")}, nil
		}
		if err := r.seedTeam(t.Context(), "web"); err != nil {
			t.Fatal(err)
		}
		if got := show(); got != "first of web" {
			t.Errorf("the repository contains %q", got)
		}
	}
}
