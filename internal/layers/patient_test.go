package layers

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakePulumi is a pulumi that records each SIGINT and its process group. After the first it continues until a file called
// finish exists. At the second it stops at once.
const fakePulumi = `#!/bin/sh
[ "$1" = version ] && { echo v3.999.0; exit; }
interrupts=0
trap 'interrupts=$((interrupts+1)); echo $interrupts >> interrupts; [ $interrupts -lt 2 ] || exit 7' INT
cut -d" " -f5 /proc/$$/stat > group
while [ ! -e finish ]; do sleep 0.05; done
echo finished
`

func TestAnInterruptedPulumiFinishesItsOperations(t *testing.T) {
	for name, tc := range map[string]struct {
		then   func(t *testing.T, dir string)
		stdout string
		code   int
		count  string
	}{
		"which take long": {func(t *testing.T, dir string) {
			t.Helper()
			touch(t, filepath.Join(dir, "finish"))
		}, "finished\n", 0, "1\n"},
		"unless a second interrupt arrives": {func(t *testing.T, _ string) {
			t.Helper()
			if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}, "", 7, "1\n2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := t.TempDir(), t.TempDir()
			if err := os.Mkdir(filepath.Join(root, "bin"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, "bin", "pulumi"), []byte(fakePulumi), 0o700); err != nil { //nolint:gosec // A command.
				t.Fatal(err)
			}
			command, err := Patient(root)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				if group := strings.TrimSpace(content(t, filepath.Join(dir, "group"))); group == strconv.Itoa(syscall.Getpgrp()) {
					t.Errorf("it is in group %s, that of this process, where a terminal's Ctrl-C reaches it", group)
				}
				cancel()
				content(t, filepath.Join(dir, "interrupts"))
				tc.then(t, dir)
			}()
			stdout, stderr, code, err := command.Run(ctx, dir, nil, nil, nil, nil, "up")
			if stdout != tc.stdout || code != tc.code {
				t.Errorf("it ends with %d, %v and prints %q, want %d and %q: %s", code, err, stdout, tc.code, tc.stdout, stderr)
			}
			if got := content(t, filepath.Join(dir, "interrupts")); got != tc.count {
				t.Errorf("its interrupts are %q, want %q", got, tc.count)
			}
		})
	}
}

// content returns the content of a file as soon as it is not empty.
func content(t *testing.T, path string) string {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		if raw, err := os.ReadFile(path); err == nil && len(raw) > 0 {
			return string(raw)
		}
		select {
		case <-again.C:
		case <-t.Context().Done():
			return ""
		}
	}
}

func touch(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}
