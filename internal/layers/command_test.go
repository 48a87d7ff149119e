package layers

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writePulumi writes a script as the pulumi of an installation, and returns the installation's root.
func writePulumi(t *testing.T, script string) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "bin", "pulumi"), []byte(script), 0o700); err != nil { //nolint:gosec // A command.
		t.Fatal(err)
	}
	return root
}

func TestAPinnedPulumiRunsWithoutBeingAskedForItsVersion(t *testing.T) {
	root := writePulumi(t, "#!/bin/sh\n"+`[ "$1" = version ] && { touch asked; exit; }
cat; echo "$*|$A|$PULUMI_AUTOMATION_API|${PATH%%:*}|$(pwd)"; echo oops >&2; exit 3`+"\n")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	command, err := Pinned(root, "v3.258.0")()
	if err != nil {
		t.Fatal(err)
	}
	if got := command.Version().String(); got != "3.258.0" {
		t.Errorf("its version is %s", got)
	}
	var out, errs bytes.Buffer
	stdout, stderr, code, err := command.Run(t.Context(), dir, strings.NewReader("in "), []io.Writer{&out}, []io.Writer{&errs}, []string{"A=b"}, "up", "--yes")
	want := "in --non-interactive up --yes|b|true|" + filepath.Join(root, "bin") + "|" + dir + "\n"
	if stdout != want || out.String() != want {
		t.Errorf("it prints %q and passes on %q, want %q", stdout, &out, want)
	}
	if stderr != "oops\n" || errs.String() != "oops\n" || code != 3 || err == nil {
		t.Errorf("it ends with code %d, %v, and prints the errors %q and %q", code, err, stderr, &errs)
	}
	if _, err := os.Stat(filepath.Join(dir, "asked")); err == nil {
		t.Error("it was asked for its version")
	}
}

func TestAPinnedPulumiIsInterruptedOnce(t *testing.T) {
	root, dir := writePulumi(t, fakePulumi), t.TempDir()
	command, err := Pinned(root, "v3.258.0")()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		content(t, filepath.Join(dir, "group"))
		cancel()
		content(t, filepath.Join(dir, "interrupts"))
		touch(t, filepath.Join(dir, "finish"))
	}()
	if stdout, _, _, err := command.Run(ctx, dir, nil, nil, nil, nil, "up"); stdout != "finished\n" || err == nil {
		t.Errorf("it ends with %v after it printed %q", err, stdout)
	}
	if got := content(t, filepath.Join(dir, "interrupts")); got != "1\n" {
		t.Errorf("it got these interrupts: %q", got)
	}
}

func TestAnUnreadableVersionOfPulumiIsAnError(t *testing.T) {
	if _, err := Pinned(t.TempDir(), "latest")(); err == nil || !strings.Contains(err.Error(), `the version of pulumi, "latest"`) {
		t.Errorf("got %v", err)
	}
}
