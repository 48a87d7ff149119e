// Package killedlock creates, for tests, the unfinished lock file of a pulumi process that was killed while it wrote the file.
package killedlock

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

// Leave starts a program that writes a lock of a stack to a file backend, with the library and the version that the pinned
// pulumi uses, and is killed meanwhile. dir is the folder of the backend.
func Leave(t *testing.T, dir, project, stack string) {
	t.Helper()
	root, program := toolchaintest.Root(t), filepath.Join(t.TempDir(), "killed")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, filepath.Join(root, "test", "killedlock", "testdata", "main.go"))
	build.Dir = filepath.Join(root, "tools", "pulumi") // This module pins pulumi and its libraries.
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the writer of a lock: %v: %s", err, out)
	}
	locks := path.Join(".pulumi", "locks", "organization", project, stack)
	write := exec.CommandContext(t.Context(), program, dir, path.Join(locks, "0.json"))
	out, err := write.CombinedOutput()
	if status, ok := write.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the writer of a lock was not killed: %v: %s", err, out)
	}
	left, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(locks)))
	if err != nil || len(left) != 1 {
		t.Fatalf("the writer of a lock left %v (%v), want one file", left, err)
	}
}
