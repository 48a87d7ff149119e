package toolchain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/strata-platform/strata/internal/toolchain/sources"
)

// cacheFormat is part of every address. A new value abandons the builds of older versions of this package.
const cacheFormat = "strata-tools-1"

// A module is the source of a bundle, as read from disk once. Builds use these bytes instead of the files, so that a
// build always matches its address.
type module struct {
	sources      sources.Sources
	dir          string            // the folder in sources, with slashes
	path         string            // the module path
	files        map[string][]byte // go.mod, go.sum and our own Go files, of local replacements too, by path in dir
	versions     map[string]string // version by module path
	replacements []replacement
}

// readModule reads the parts of the bundle's module that the bundle needs.
func readModule(from sources.Sources, b bundle) (*module, error) {
	m := &module{sources: from, dir: path.Join(sources.Tools, b.module), files: map[string][]byte{}, versions: map[string]string{}}
	if err := m.readRoot("."); err != nil {
		return nil, err
	}
	parsed, err := modfile.Parse(m.name("go.mod"), m.files["go.mod"], nil)
	if err != nil {
		return nil, err
	}
	m.path = parsed.Module.Mod.Path
	for _, require := range parsed.Require {
		m.versions[require.Mod.Path] = require.Mod.Version
	}
	for _, replace := range parsed.Replace {
		if modfile.IsDirectoryPath(replace.New.Path) {
			if err := errors.Join(m.readRoot(replace.New.Path), m.readPackage(replace.New.Path)); err != nil {
				return nil, err
			}
		}
	}
	if err := m.readReplacements(); err != nil {
		return nil, err
	}
	for _, tl := range b.tools {
		if m.versions[tl.pin] == "" {
			return nil, fmt.Errorf("%s does not require %s, the module of %s", m.name("go.mod"), tl.pin, tl.name)
		}
		if tl.local() {
			if err := m.readPackage(tl.pkg); err != nil {
				return nil, err
			}
		}
	}
	return m, nil
}

// readRoot reads the files of the module in the folder sub.
func (m *module) readRoot(sub string) error {
	if err := m.read(path.Join(sub, "go.mod")); err != nil {
		return err
	}
	if err := m.read(path.Join(sub, "go.sum")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// readPackage reads the Go files in the folder sub, except tests.
func (m *module) readPackage(sub string) error {
	found, err := fs.Glob(m.sources.Files, path.Join(m.dir, sub, "*.go"))
	if err != nil {
		return err
	}
	for _, source := range found {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		if err := m.read(path.Join(sub, path.Base(source))); err != nil {
			return err
		}
	}
	return nil
}

func (m *module) read(file string) error {
	content, err := fs.ReadFile(m.sources.Files, path.Join(m.dir, file))
	if err != nil {
		return fmt.Errorf("read %s: %w", m.name(file), err)
	}
	m.files[file] = content
	return nil
}

// name returns the name of one of the module's files for messages.
func (m *module) name(file string) string { return m.sources.Name(path.Join(m.dir, file)) }

// dir returns the cache folder of a bundle. It needs the go command unless the tools were fetched.
func (t *Toolchain) dir(ctx context.Context, b bundle) (string, error) {
	if dir := t.prebuiltDir(b); exists(dir) {
		return dir, nil
	}
	goVersion, err := t.askGo(ctx)
	if err != nil {
		return "", err
	}
	return filepath.Join(t.cache, b.name+"-"+address(b, t.modules[b.name], goVersion)), nil
}

// address returns a name derived from all inputs of a bundle's builds. The length of each input is hashed before the input, so
// that different inputs never give the same text.
func address(b bundle, m *module, goVersion string) string {
	hash := sha256.New()
	field := func(name string, content []byte) {
		_, _ = fmt.Fprintf(hash, "%s %d\n", name, len(content))
		_, _ = hash.Write(content)
	}
	field(cacheFormat, nil)
	field(goVersion, nil)
	for _, tl := range b.tools {
		field(tl.name, []byte(strings.Join(append(tl.flags(m.versions[tl.pin]), tl.pkg), "\n")))
		field("environment", []byte(strings.Join(environment(), "\n")))
		if len(tl.mains) > 0 {
			field("mains", []byte(strings.Join(tl.mains, "\n")))
		}
		field("embeds", []byte(strings.Join(append(tl.embeds.files, tl.embeds.module, tl.embeds.dir), "\n")))
	}
	for _, path := range slices.Sorted(maps.Keys(m.files)) {
		field(filepath.ToSlash(path), m.files[path])
	}
	return hex.EncodeToString(hash.Sum(nil))[:16]
}

// askGo returns the version of the go command, which is part of a build's address.
func (t *Toolchain) askGo(ctx context.Context) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.goVersion != "" {
		return t.goVersion, nil
	}
	dir, remove, err := t.sources.GoFolder()
	if err != nil {
		return "", fmt.Errorf("ask Go for its version: %w", explain(err, t.cache))
	}
	defer remove()
	cmd := exec.CommandContext(ctx, "go", "env", "GOVERSION")
	cmd.Dir = dir
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = &commandError{args: cmd.Args, output: stderr.String(), err: err}
		return "", fmt.Errorf("ask Go for its version: %w", explain(err, t.cache))
	}
	t.goVersion = strings.TrimSpace(string(out))
	return t.goVersion, nil
}

// Go returns the version of the go command on PATH and the minimum version of the repository, both in the form
// "go1.26.0".
func (t *Toolchain) Go(ctx context.Context) (found, needed string, err error) {
	content, err := fs.ReadFile(t.sources.Files, "go.mod")
	if err != nil {
		return "", "", err
	}
	parsed, err := modfile.ParseLax(t.sources.Name("go.mod"), content, nil)
	if err != nil {
		return "", "", err
	}
	if parsed.Go != nil {
		needed = "go" + parsed.Go.Version
	}
	found, err = t.askGo(ctx)
	return found, needed, err
}
