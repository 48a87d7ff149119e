package stratatest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/lockedfile"

	"github.com/strata-platform/strata/internal/toolchain"
)

// command is the strata command under test and the repository that it was built from.
type command struct{ executable, root string }

// built contains the command, which the first test builds, and all platforms so far, which share one parent folder. Main
// removes that folder.
var built struct {
	sync.Mutex
	dir string
	command
	platforms []*Platform
}

// Executable returns the path of the strata command, built as by `make build`, for tests that need no platform. The file
// exists until the package's tests have ended. Under -short it skips the test.
func Executable(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the toolchain")
	}
	command, err := build(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return command.executable
}

// build returns the command in a folder of this package's tests. The first call builds it.
func build(ctx context.Context) (command, error) {
	built.Lock()
	defer built.Unlock()
	if built.executable != "" {
		return built.command, nil
	}
	root, err := toolchain.FindRoot(".")
	if err != nil {
		return command{}, err
	}
	if err := observe(root); err != nil {
		return command{}, err
	}
	if built.dir, err = os.MkdirTemp("", "strata-test-"); err != nil {
		return command{}, err
	}
	executable := filepath.Join(built.dir, "strata")
	if err := buildInto(ctx, root, executable); err != nil {
		return command{}, fmt.Errorf("build strata: %w", err)
	}
	built.command = command{executable, root}
	return built.command, nil
}

// buildInto builds strata as `make build` does and puts the executable at path. All packages build the same file in the
// user's cache, one after the other: go links the file only after a change of its sources. A later build replaces that
// file, so path is a hard link to the current one.
func buildInto(ctx context.Context, root, path string) error {
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	dir := filepath.Join(cache, "strata", "test", fmt.Sprintf("%x", sha256.Sum256([]byte(root)))[:16])
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	unlock, err := lockedfile.MutexAt(filepath.Join(dir, "lock")).Lock()
	if err != nil {
		return err
	}
	defer unlock()
	shared := filepath.Join(dir, "strata")
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", shared, "./cmd/strata")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	if os.Link(shared, path) == nil {
		return nil
	}
	// The folder for temporary files is on another file system.
	if out, err := exec.CommandContext(ctx, "cp", shared, path).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// observe opens the folders of the repository. go test caches the result of a package until a file that the test opened
// changes, and does not see the files that a go build in the test reads.
func observe(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin") {
			return filepath.SkipDir
		}
		return err
	})
}
