package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/strata-platform/strata/internal/terminal/terminaltest"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

// TestMakeBuildShowsThatItCompiles runs make build on a terminal, with a go command that ends once the terminal has shown the
// indicator, with an error.
func TestMakeBuildShowsThatItCompiles(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go"), "#!/bin/sh\nwhile ! [ -e "+dir+"/seen ]; do sleep 0.05; done\nexit 7\n")
	if err := os.Chmod(filepath.Join(dir, "go"), 0o700); err != nil { //nolint:gosec // an executable
		t.Fatal(err)
	}
	outer, inner := terminaltest.Open(t)
	command := exec.CommandContext(t.Context(), "make", "build")
	command.Dir = toolchaintest.Root(t)
	command.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "TERM=xterm", "MAKEFLAGS=")
	command.Stdout, command.Stderr = inner, inner
	if err := command.Start(); err != nil {
		t.Skipf("there is no make: %v", err)
	}
	inner.Close()
	var all bytes.Buffer
	buffer := make([]byte, 4096)
	for {
		n, err := outer.Read(buffer)
		all.Write(buffer[:n])
		if bytes.Contains(all.Bytes(), []byte("compiling strata, ")) {
			write(t, filepath.Join(dir, "seen"), "")
		}
		if err != nil {
			break // No process has the other end open any more, the indicator neither.
		}
	}
	if err := command.Wait(); err == nil {
		t.Error("make hides the failure of go")
	}
	for _, want := range []string{"go build -ldflags \"-s -w\" -o bin/strata ./cmd/strata\r\n", "\r • compiling strata, 1s", "\r\x1b[K", "Error 7"} {
		if !bytes.Contains(all.Bytes(), []byte(want)) {
			t.Errorf("the terminal shows no %q: %q", want, all.Bytes())
		}
	}
}
