package rotation

import (
	"os"
	"slices"
	"testing"

	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
)

// TestAKilledRotationOfGitContinues derives the files that a kill leaves after each write.
func TestAKilledRotationOfGitContinues(t *testing.T) {
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := Rotation{Local: &local.Platform{Home: h}}
	first, err := h.Secret(supervisor.GitSecret)
	if err != nil {
		t.Fatal(err)
	}
	// Killed after the copy of the current secret: both are the same, and no new one exists.
	if err := home.WriteFile(h.SecretFile(supervisor.FormerGitSecret), []byte(first)); err != nil {
		t.Fatal(err)
	}
	former, current, err := r.newGitSecret()
	if err != nil || former != first || current == first {
		t.Fatalf("the former secret is the first: %v, the current one is new: %v, %v", former == first, current != first, err)
	}
	// Killed after the new secret: the next call keeps both.
	again, same, err := r.newGitSecret()
	if err != nil || again != former || same != current {
		t.Errorf("the second call has replaced a secret: %v", err)
	}
	if kept, err := os.ReadFile(h.SecretFile(supervisor.GitSecret)); err != nil || string(kept) != current {
		t.Errorf("the home's secret is another: %v", err)
	}
}

func TestGenerationsSurviveAndOneRotationFollowsAnother(t *testing.T) {
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := Rotation{Local: &local.Platform{Home: h}}
	for _, want := range [][]int{{1, 0}, {1, 0}, {1}, {2, 1}} {
		finish := len(want) == 1
		if err := r.generations(func(g *home.Generations) {
			web := home.Next(g.Passphrases["web"])
			if finish {
				web = web[:1]
			}
			g.Passphrases["web"] = web
		}); err != nil {
			t.Fatal(err)
		}
		kept, err := h.Generations()
		if err != nil || !slices.Equal(kept.Passphrases["web"], want) {
			t.Errorf("the generations are %+v, %v; want %v", kept, err, want)
		}
	}
	if err := os.WriteFile(h.SecretFile("generations"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.generations(func(*home.Generations) { t.Error("a damaged record is changed") }); err == nil {
		t.Error("a damaged record is no error")
	}
}
