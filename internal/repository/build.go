package repository

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// interruptGrace is how long the go command may take to exit after an interrupt.
const interruptGrace = 10 * time.Second

// Build compiles the program to the file executable, with the Go on PATH.
func (p Program) Build(ctx context.Context, executable string) error {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("compile %s, because %s: Go is not on PATH: install it from https://go.dev/dl", p.Folder, p.Own)
	}
	if err := os.MkdirAll(filepath.Dir(executable), 0o700); err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", executable, ".")
	command.Dir, command.Env = p.Folder, append(os.Environ(), "CGO_ENABLED=0")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = interruptGrace
	out, err := command.CombinedOutput()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		said := strings.Join(strings.Fields(string(out)), " ")
		if strings.Contains(said, "go mod tidy") || strings.Contains(said, "missing go.sum entry") {
			return fmt.Errorf("compile %s, because %s: go.sum is not complete: run `go mod tidy`: %s", p.Folder, p.Own, said)
		}
		return fmt.Errorf("compile %s, because %s: %w: %s", p.Folder, p.Own, err, said)
	}
	if info, err := os.Stat(executable); err != nil || info.Mode()&0o111 == 0 {
		return errors.New("compile " + p.Folder + ": it has no package main")
	}
	return nil
}
