package rehearsal

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/operator/engine/workdir"
)

func TestTheNextRehearsalRemovesWhatKilledOnesLeft(t *testing.T) {
	root, err := toolchain.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	held, release, err := workdir.Take(parent, prefix)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := os.WriteFile(filepath.Join(held, "bundle"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	// One was killed while its home ran, and another one before it had a home.
	killed, early := filepath.Join(parent, prefix+"killed"), filepath.Join(parent, prefix+"early")
	for _, dir := range []string{killed, filepath.Join(early, "bundles")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h, err := home.Open(filepath.Join(killed, homeFolder))
	if err != nil {
		t.Fatal(err)
	}
	left := exec.CommandContext(t.Context(), "sleep", "600")
	left.Env = []string{"HOME=" + h.Layers()}
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- left.Wait() }()

	dir, done, err := take(t.Context(), progress.New(io.Discard), root, parent)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the process has ended by itself")
		}
	case <-time.After(time.Minute):
		t.Error("the process of the killed rehearsal still runs")
	}
	found, err := os.ReadDir(parent)
	if err != nil || len(found) != 2 || dir == held {
		t.Errorf("the folders are %v, %v: want %s, which a rehearsal holds, and the new one, %s", found, err, held, dir)
	}
}
