package pulumienv_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/pulumienv"
)

func TestShellPath(t *testing.T) {
	h, err := home.At(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "/opt/pulumi/bin:/usr/bin")
	want := []string{h.Tools(), "/opt/pulumi/bin", "/usr/bin", h.Spares()}
	for _, shell := range []string{"fresh", "that took it before"} {
		path := pulumienv.ShellPath(h)
		if got := filepath.SplitList(path); !slices.Equal(got, want) {
			t.Errorf("in a shell %s PATH is %v, want %v", shell, got, want)
		}
		t.Setenv("PATH", path)
	}
	if got := filepath.SplitList(pulumienv.Variables(h, "http://127.0.0.1:1")["PATH"]); slices.Contains(got, h.Spares()) {
		t.Errorf("runs have the spares on PATH: %v", got)
	}
}

func TestRunsHaveAUser(t *testing.T) {
	h, err := home.At(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for inherited, want := range map[string]string{"ada": "ada", "": "strata"} {
		t.Setenv("USER", inherited)
		if got := pulumienv.Variables(h, "http://127.0.0.1:1")["USER"]; got != want {
			t.Errorf("with USER=%q, runs have USER=%q, want %q", inherited, got, want)
		}
	}
}
