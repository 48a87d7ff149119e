package repositories

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/parts"
	"github.com/strata-platform/strata/teams"
)

// TestFilesThatFluxWouldNotSeeAreNamed pushes a repository with changes that are not committed.
func TestFilesThatFluxWouldNotSeeAreNamed(t *testing.T) {
	layer3, err := parts.Sync()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		layer3 *parts.Tree
		file   string
		want   string
	}{
		"an offered entry of a clone":            {nil, "catalogue/queue/program.yaml", "sync/ or operator/config/ or catalogue/queue/ has changes that are not committed"},
		"an offered entry of an organisation":    {&layer3, "catalogue/queue/program.yaml", "sync/ or catalogue/queue/ has changes that are not committed"},
		"an organisation's part of layer 3":      {&layer3, "sync/more.yaml", "sync/ or catalogue/queue/ has changes that are not committed"},
		"an entry that nobody can order":         {&layer3, "catalogue/cache/program.yaml", ""},
		"another file":                           {&layer3, "README.md", ""},
		"a part of layer 3 of a clone's sources": {nil, "operator/config/crd.yaml", "sync/ or operator/config/ or catalogue/queue/ has changes"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			h, err := home.At(filepath.Join(dir, "home"))
			if err != nil {
				t.Fatal(err)
			}
			r := Repositories{Home: h, Root: filepath.Join(dir, "root"), Layer3: test.layer3, URL: "file://" + dir}
			initialise(t, r.Root)
			initialise(t, filepath.Join(dir, Platform+".git"), "--bare")
			if _, err := r.git(t.Context(), r.Root, "commit", "--quiet", "--allow-empty", "--message=Begin"); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(r.Root, test.file)
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte("x: y\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			warned := ""
			list := (&teams.File{Catalogue: []teams.Offer{{Name: "queue"}}}).All()
			err = r.pushPlatform(t.Context(), list, func(format string, args ...any) { warned += fmt.Sprintf(format, args...) })
			if err != nil || !strings.Contains(warned, test.want) || (warned != "") != (test.want != "") {
				t.Errorf("error %v, the warning is %q, want %q", err, warned, test.want)
			}
		})
	}
}

// initialise creates a Git repository.
func initialise(t *testing.T, dir string, flags ...string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "git", append([]string{"init", "--quiet", "--initial-branch=main", dir}, flags...)...)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
}
