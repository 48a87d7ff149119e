package toolchain

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain/filelock"
)

// twoPins returns a toolchain whose cache contains hello twice: built from its current pins, and from its previous ones.
func twoPins(t *testing.T) (tools *Toolchain, now, before string) {
	t.Helper()
	root, cache := tinyRoot(t), t.TempDir()
	build := func() string {
		t.Helper()
		tools = openTiny(t, root, cache)
		path, err := tools.Path(t.Context(), "hello")
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Dir(path)
	}
	before = build()
	write(t, filepath.Join(root, "tools/tiny/go.mod"), "module example.com/tiny\n\ngo 1.26.0\n\nrequire example.com/upstream v1.2.4\n")
	now = build()
	return tools, now, before
}

func prune(t *testing.T, tools *Toolchain) []string {
	t.Helper()
	removed, err := tools.Prune(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, l := range removed {
		if exists(l.Path) {
			t.Errorf("%s still exists after its removal", l.Path)
		}
		paths = append(paths, l.Path)
	}
	return paths
}

func TestPruneRemovesToolsOfOtherPins(t *testing.T) {
	tools, now, before := twoPins(t)
	stage := before + stageInfix + "123"
	write(t, filepath.Join(stage, "tmp", "half-made"), "half")
	foreign := filepath.Join(tools.cache, "foreign", "file")
	write(t, foreign, "")

	left, err := tools.Leftovers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 2 || left[0].Path != before || left[0].Bytes < 1000 || left[1] != (Leftover{Path: stage, Bytes: 4}) {
		t.Errorf("the leftovers are %+v", left)
	}
	if got := prune(t, tools); !slices.Equal(got, []string{before, stage}) {
		t.Errorf("Prune removed %v", got)
	}
	if !exists(filepath.Join(now, "hello")) || !exists(foreign) {
		t.Error("Prune has removed a used or foreign folder")
	}
	if got := prune(t, tools); len(got) != 0 {
		t.Errorf("the second Prune removed %v", got)
	}
}

func TestPruneLeavesABuildAlone(t *testing.T) {
	tools, _, before := twoPins(t)
	unlock, err := filelock.Take(t.Context(), before+".lock", func() {})
	if err != nil {
		t.Fatal(err)
	}
	if got := prune(t, tools); len(got) != 0 {
		t.Errorf("Prune removed %v during a build of another process", got)
	}
	unlock()
	if got := prune(t, tools); !slices.Equal(got, []string{before}) {
		t.Errorf("Prune removed %v", got)
	}
}

func TestPruneRemovesNothingWhileAProgramRuns(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	tools, _, before := twoPins(t)
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	if err := copyFile(cat, filepath.Join(before, "runner")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(before, "runner"))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_, err = tools.Prune(t.Context())
	checkError(t, err, "runner (pid ", "runs from "+before, "strata local stop")
	if !exists(filepath.Join(before, "hello")) {
		t.Error("Prune has removed the tool")
	}
	_ = stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := prune(t, tools); !slices.Equal(got, []string{before}) {
		t.Errorf("Prune removed %v", got)
	}
}

func TestPruneOfAMissingCache(t *testing.T) {
	tools := openTiny(t, tinyRoot(t), filepath.Join(t.TempDir(), "none"))
	if got := prune(t, tools); len(got) != 0 || exists(tools.cache) {
		t.Errorf("Prune removed %v from %s", got, tools.cache)
	}
}

func TestPruneWithAnOldGoRemovesNothing(t *testing.T) {
	tools, now, before := twoPins(t)
	tools.goVersion = "go1.25.9"
	if removed, err := tools.Prune(t.Context()); err == nil || len(removed) > 0 || !strings.Contains(err.Error(), "go1.25.9, but these tools need go1.26.0 or newer") {
		t.Errorf("Prune removed %v, error %v", removed, err)
	}
	for _, dir := range []string{now, before} {
		if !exists(dir) {
			t.Errorf("%s is removed", dir)
		}
	}
}
