package toolchain

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain/sources"
)

// tinyCatalogue returns a bundle of programs that build quickly and without network: one of this repository that embeds
// nothing, one that writes a folder, one that does not compile, and the first one under another name.
func tinyCatalogue() []bundle {
	const pin = "example.com/upstream"
	return []bundle{{name: "tiny", module: "tiny", tools: []tool{
		{name: "hello", pkg: "./hello", pin: pin, settings: variables("main.version"), versionArgs: []string{"version"}},
		{name: "folder", pkg: "./folder", pin: pin, folder: true},
		{name: "broken", pkg: "./broken", pin: pin},
		{name: "hello-again", pkg: "./hello", pin: pin, settings: variables("main.version"), versionArgs: []string{"version"}},
	}}}
}

// tinyRoot writes a repository that pins the tiny catalogue and returns its root.
func tinyRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for path, content := range map[string]string{
		"go.mod": "module " + sources.Module + "\n\ngo 1.26.0\n",
		"tools/tiny/go.mod": `module example.com/tiny

go 1.26.0

require example.com/upstream v1.2.3
`,
		"tools/tiny/hello/main.go": `package main

var version = "none"

func main() { println("hello", version) }
`,
		"tools/tiny/folder/main.go": `package main

import "os"

func main() {
	if err := os.Mkdir(os.Args[1], 0o755); err != nil {
		panic(err)
	}
	if err := os.WriteFile(os.Args[1]+"/file", []byte("content"), 0o644); err != nil {
		panic(err)
	}
}
`,
		"tools/tiny/broken/main.go": "package main\n\nfunc main() { undefined() }\n",
	} {
		write(t, filepath.Join(root, path), content)
	}
	return root
}

// openTiny opens the tiny catalogue of root with a cache of its own.
func openTiny(t *testing.T, root, cache string) *Toolchain {
	t.Helper()
	tools, err := open(root, cache, tinyCatalogue())
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// script writes an executable shell script and returns its path.
func script(t *testing.T, dir, name, body string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	write(t, path, "#!/bin/sh\n"+body+"\n")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// entries returns the names in a folder.
func entries(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range list {
		names = append(names, entry.Name())
	}
	return names
}
