// Package sources finds the sources of the tools: in a clone of Strata, or in this program.
package sources

import (
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/txtar"
)

// Module is the path of Strata's own module.
const Module = "github.com/strata-platform/strata"

// Tools is the folder of a clone that contains the modules of the tools.
const Tools = "tools"

// archive contains the sources of the tools in this program, as toolchain.Archive writes them. They are separate modules,
// so Strata's own module does not contain them. The format is text: it does not depend on a compressor, and Git can compare
// and merge it.
//
//go:generate go run ../archive
//go:embed sources.txtar
var archive []byte

// Archive returns the archive in this program, in the format of txtar.
func Archive() []byte { return archive }

// Sources are the files that the tools are built from: a clone's go.mod and tools/.
type Sources struct {
	Files fs.FS
	// Root is the folder of the clone; empty for the files in this program.
	Root string
}

// In returns the sources in a folder, whether or not it is a clone.
func In(root string) Sources { return Sources{os.DirFS(root), root} }

// Of returns the sources of the clone at root. If root is no clone, it returns the sources in this program. No other
// function makes this choice.
func Of(root string) (Sources, error) {
	if IsClone(root) {
		return In(root), nil
	}
	files, err := txtar.FS(txtar.Parse(archive))
	if err != nil {
		return Sources{}, fmt.Errorf("read the sources of the tools in this program: %w", err)
	}
	return Sources{Files: files}, nil
}

// String returns the name of the sources for messages.
func (s Sources) String() string {
	if s.Root == "" {
		return "this program"
	}
	return s.Root
}

// Name returns the name of a file for messages.
func (s Sources) Name(file string) string {
	if s.Root == "" {
		return file + " in this program"
	}
	return filepath.Join(s.Root, filepath.FromSlash(file))
}

// GoFolder returns a folder in which the go command chooses the same version of Go as for the builds. The caller calls
// remove.
func (s Sources) GoFolder() (dir string, remove func(), err error) {
	if s.Root != "" {
		return s.Root, func() {}, nil
	}
	content, err := fs.ReadFile(s.Files, "go.mod")
	if err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp("", "strata-go-"); err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), content, 0o600); err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// GoVersion returns the minimum version of Go for the sources in this program, such as "1.26.0".
func GoVersion() (string, error) {
	from, err := Of("")
	if err != nil {
		return "", err
	}
	content, err := fs.ReadFile(from.Files, "go.mod")
	if err != nil {
		return "", err
	}
	parsed, err := modfile.ParseLax(from.Name("go.mod"), content, nil)
	if err != nil {
		return "", err
	}
	return parsed.Go.Version, nil
}

// FindRoot returns the root of the clone of Strata that contains start: start itself or its nearest such parent.
func FindRoot(start string) (string, error) {
	start, err := filepath.Abs(start)
	if err != nil {
		return "", fmt.Errorf("find Strata's repository: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if IsClone(dir) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find Strata's repository: neither %s nor a folder above it contains the go.mod of %s and tools/: run this in a clone of Strata", start, Module)
		}
	}
}

// IsClone reports whether dir is the root of a clone of Strata: it contains Strata's go.mod and tools/.
func IsClone(dir string) bool {
	content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if dir == "" || err != nil || modfile.ModulePath(content) != Module {
		return false
	}
	info, err := os.Stat(filepath.Join(dir, Tools))
	return err == nil && info.IsDir()
}
