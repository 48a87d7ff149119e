package toolchain

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain/sources"
)

// TestVersionThatGoWroteIntoAProgram covers a tool that prints no version, and a release of it that Go built in a clone,
// from a tag.
func TestVersionThatGoWroteIntoAProgram(t *testing.T) {
	const pin = "example.com/mute"
	release := releaseOf(t, pin, "v1.2.3")
	openMute := func(t *testing.T, version string) *Toolchain {
		t.Helper()
		root := t.TempDir()
		write(t, filepath.Join(root, "go.mod"), "module "+sources.Module+"\n\ngo 1.26.0\n")
		write(t, filepath.Join(root, "tools/tiny/go.mod"), "module example.com/tiny\n\ngo 1.26.0\n\nrequire "+pin+" "+version+"\n")
		tools, err := open(root, t.TempDir(), []bundle{{name: "tiny", module: "tiny", tools: []tool{{name: "mute", pkg: pin, pin: pin}}}})
		if err != nil {
			t.Fatal(err)
		}
		return tools
	}
	t.Run("refuses an override of another version", func(t *testing.T) {
		t.Setenv("STRATA_TOOL_MUTE", release)
		_, err := openMute(t, "v1.2.4").Path(t.Context(), "mute")
		checkError(t, err, "use STRATA_TOOL_MUTE: "+release+" is version v1.2.3, but Strata pins v1.2.4")
	})
	t.Run("lets the pinned version override", func(t *testing.T) {
		t.Setenv("STRATA_TOOL_MUTE", release)
		if path, err := openMute(t, "v1.2.3").Path(t.Context(), "mute"); err != nil || path != release {
			t.Errorf("Path is %s, %v; want %s", path, err, release)
		}
	})
	t.Run("lets the pinned version be copied from PATH", func(t *testing.T) {
		t.Setenv("PATH", filepath.Dir(release)+string(os.PathListSeparator)+os.Getenv("PATH"))
		var last Progress
		if err := openMute(t, "v1.2.3").Ensure(t.Context(), func(e Event) { last = e.Progress }, "mute"); err != nil || last != Copied {
			t.Errorf("mute was %s (%v), want %s", last, err, Copied)
		}
	})
}

// releaseOf builds a program called mute in a repository of its own with a tagged commit, and returns its path.
func releaseOf(t *testing.T, module, tag string) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), "module "+module+"\n\ngo 1.26.0\n")
	write(t, filepath.Join(dir, "main.go"), "package main\n\nfunc main() {}\n")
	program := filepath.Join(t.TempDir(), "mute")
	for _, line := range []string{
		"git init --quiet", "git add .", "git -c user.name=Ada -c user.email=ada@example.com commit --quiet --message=release",
		"git tag " + tag, "go build -buildvcs=true -o " + program,
	} {
		args := strings.Fields(line)
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
	}
	return program
}
