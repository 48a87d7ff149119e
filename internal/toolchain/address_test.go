package toolchain

import (
	"path/filepath"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain/sources"
)

func TestEveryInputOfABuildChangesTheAddress(t *testing.T) {
	root := tinyRoot(t)
	dir := filepath.Join(root, "tools", "tiny")
	b := tinyCatalogue()[0]
	read := func(t *testing.T) *module {
		t.Helper()
		m, err := readModule(sources.In(root), b)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	const goVersion = "go1.26.0"
	start := address(b, read(t), goVersion)
	if again := address(b, read(t), goVersion); again != start {
		t.Fatalf("equal inputs have the addresses %s and %s", start, again)
	}
	if other := address(b, read(t), "go1.26.1"); other == start {
		t.Error("another version of Go has the same address")
	}
	changed := tinyCatalogue()[0]
	changed.tools[0].tags = "tag"
	if other := address(changed, read(t), goVersion); other == start {
		t.Error("other flags have the same address")
	}

	// Each change comes on top of the previous ones.
	last := start
	for _, change := range []struct{ name, path, content string }{
		{"another pin", "go.mod", "module example.com/tiny\n\ngo 1.26.0\n\nrequire example.com/upstream v1.2.4\n"},
		{"a checksum", "go.sum", "example.com/upstream v1.2.4 h1:x\n"},
		{"our own source", "hello/main.go", "package main\n\nfunc main() {}\n"},
		{"a new source", "hello/more.go", "package main\n"},
	} {
		t.Run(change.name, func(t *testing.T) {
			write(t, filepath.Join(dir, change.path), change.content)
			next := address(b, read(t), goVersion)
			if next == last {
				t.Errorf("%s does not change the address", change.name)
			}
			last = next
		})
	}
	t.Run("not with a test", func(t *testing.T) {
		write(t, filepath.Join(dir, "hello/main_test.go"), "package main\n")
		if next := address(b, read(t), goVersion); next != last {
			t.Error("a test file changes the address")
		}
	})
}
