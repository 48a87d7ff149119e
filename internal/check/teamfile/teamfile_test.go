package teamfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/check/teamfile"
	"github.com/strata-platform/strata/teams"
)

const list = "apiVersion: strata/v1\nkind: Teams\nteams:\n- name: web\n  allow: ['random:*']\n- name: shop\n"

func write(t *testing.T, name, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestTheFileOfARepositoryHasTheLimitsOfItsTeam(t *testing.T) {
	file, err := teams.Load(write(t, filepath.Join(t.TempDir(), "teams.yaml"), list))
	if err != nil {
		t.Fatal(err)
	}
	content, err := teamfile.Content(file, "web")
	if err != nil {
		t.Fatal(err)
	}
	repository := t.TempDir()
	write(t, filepath.Join(repository, teamfile.Folder, teamfile.Name), string(content))
	write(t, filepath.Join(repository, ".git", "config"), "[core]\n\turl = x\n[remote \"origin\"]\n\turl = https://web:canary-4711@git.example.com/web.git\n")
	team, limits, err := teamfile.Load(teamfile.Source{Repository: repository})
	if err != nil || team != "web" || limits.Namespace != "team-web" {
		t.Fatalf("team %q, limits %+v, error %v", team, limits, err)
	}
	if urls := limits.Policy["sourceUrls"].([]any); len(urls) != 1 || urls[0] != "https://git.example.com/web.git" {
		t.Errorf("the sources are %v", urls)
	}
	if types := limits.Policy["types"].([]any); len(types) != 1 || types[0] != "random:*" {
		t.Errorf("the types are %v", types)
	}
	if _, err := teamfile.Content(file, "hr"); err == nil {
		t.Error("a team that the list does not have has a file")
	}
}

func TestALinkIsNoFileOfTheRepository(t *testing.T) {
	elsewhere := t.TempDir()
	write(t, filepath.Join(elsewhere, teamfile.Name), list)
	repository := t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(repository, teamfile.Folder)); err != nil {
		t.Fatal(err)
	}
	if team, _, err := teamfile.Load(teamfile.Source{Repository: repository}); team != "" || err != nil {
		t.Errorf("team %q, error %v", team, err)
	}
}

func TestTheFileOfARepositoryHasNoAliases(t *testing.T) {
	repository := t.TempDir()
	bomb := "apiVersion: strata/v1\nkind: Teams\nteams:\n- name: web\nx: &a " + strings.Repeat("x", 500_000) + "\ny: [" + strings.Repeat("*a,", 1000) + "]\n"
	file := write(t, filepath.Join(repository, teamfile.Folder, teamfile.Name), bomb)
	_, _, err := teamfile.Load(teamfile.Source{Repository: repository})
	if err == nil || !strings.Contains(err.Error(), file+": it is not JSON: run `strata schema --team NAME --write CLONE`") {
		t.Errorf("error %.300v", err)
	}
}

func TestACallThatNamesNoTeamOfTheFileIsRefused(t *testing.T) {
	file := write(t, filepath.Join(t.TempDir(), "teams.yaml"), list)
	for name, from := range map[string]teamfile.Source{
		"two teams":       {File: file},
		"an unknown team": {File: file, Team: "hr"},
		"no file":         {Team: "web", Fallback: func() (string, error) { return "", errors.New("none") }},
	} {
		from.Repository = t.TempDir()
		if _, _, err := teamfile.Load(from); !errors.Is(err, teamfile.ErrTeam) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
