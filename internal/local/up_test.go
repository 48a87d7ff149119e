package local

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status/wait"
)

func TestUpListsAllMissingRequirementsAndChangesNothing(t *testing.T) {
	p := openTestPlatform(t)
	h, err := home.At(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	p.Home = h
	t.Setenv("PATH", t.TempDir())
	_, err = lifecycle.New(p).Up(t.Context(), progress.New(io.Discard), wait.All)
	for _, want := range []string{"nothing was changed: go: ", "install Go from https://go.dev/dl", "; git: ", "install git, 2.31 or newer"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("up ends with %v, want %q in it", err, want)
		}
	}
	if h.Exists() {
		t.Error("a home was made")
	}
}
