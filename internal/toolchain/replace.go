package toolchain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/strata-platform/strata/internal/toolchain/importable"
)

// replaceFolder is the folder beside a go.mod that contains replacements. Go ignores it because of the underscore.
const replaceFolder = "_replace"

// directive matches one of the first lines of a replacement: module@version of the replaced file, and the file's path in
// the module.
var directive = regexp.MustCompile(`^//strata:replace (\S+)@(\S+) (\S+)\n`)

// A replacement is a Go file of this repository that the build compiles instead of a file of a pinned module. It fits one
// version of the module; for any other version the build fails.
type replacement struct {
	source  string // the file's path below the folder of go.mod
	module  string // the module that it changes
	path    string // the path of the file it replaces, below the module's folder
	content []byte
}

// readReplacements reads the module's replacements. It returns an error if one is for another version than go.mod pins.
func (m *module) readReplacements() error {
	if err := m.readPackage(replaceFolder); err != nil {
		return err
	}
	for _, source := range slices.Sorted(maps.Keys(m.files)) {
		if path.Dir(source) != replaceFolder {
			continue
		}
		found, err := m.replacementsOf(source)
		if err != nil {
			return fmt.Errorf("%s %w", m.name(source), err)
		}
		m.replacements = append(m.replacements, found...)
	}
	return nil
}

// replacementsOf returns the replacements that the directives of a file declare. Several directives name a module and its
// forks: the file imports packages of the first one, and its copy for a fork imports the fork's.
func (m *module) replacementsOf(source string) ([]replacement, error) {
	var found []replacement
	rest := m.files[source]
	for match := directive.FindSubmatch(rest); match != nil && filepath.IsLocal(string(match[3])); match = directive.FindSubmatch(rest) {
		r := replacement{source: source, module: string(match[1]), path: string(match[3]), content: m.files[source]}
		if written, pinned := string(match[2]), m.versions[r.module]; written != pinned {
			return nil, fmt.Errorf("replaces %s of %s %s, but go.mod pins %q: if the new version still needs it, adapt the file and its first lines, "+
				"otherwise delete the file", r.path, r.module, written, pinned)
		}
		if len(found) > 0 {
			r.content = bytes.ReplaceAll(r.content, []byte(`"`+found[0].module+"/"), []byte(`"`+r.module+"/"))
		}
		found, rest = append(found, r), rest[len(match[0]):]
	}
	if len(found) == 0 || bytes.HasPrefix(rest, []byte("//strata:")) {
		return nil, errors.New("does not begin with //strata:replace MODULE@VERSION PATH")
	}
	return found, nil
}

// replace makes the go.mod in source use copies of the changed modules, in folders of modules, that contain the
// replacements and the importable programs. The go command accepts no overlay for files of the module cache.
func (j job) replace(run runner, source, modules string) error {
	if len(j.module.replacements)+len(j.tool.mains) == 0 {
		return nil
	}
	goMod, err := modfile.Parse("go.mod", j.module.files["go.mod"], nil)
	if err != nil {
		return err
	}
	copies := map[string]string{}
	use := func(module string) error {
		if copies[module] != "" {
			return nil
		}
		copies[module] = filepath.Join(modules, strings.ReplaceAll(module, "/", "-"))
		if err := copyModule(run, module, copies[module]); err != nil {
			return err
		}
		relative, err := filepath.Rel(source, copies[module])
		if err != nil {
			return err
		}
		return goMod.AddReplace(module, "", filepath.ToSlash(relative), "")
	}
	for _, module := range j.tool.mains {
		if err := use(module); err != nil {
			return err
		}
		if err := importable.Make(copies[module]); err != nil {
			return fmt.Errorf("link the program of %s: %w", module, err)
		}
	}
	for _, r := range j.module.replacements {
		if err := use(r.module); err != nil {
			return err
		}
		replaced := filepath.Join(copies[r.module], filepath.FromSlash(r.path))
		if _, err := os.Stat(replaced); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s replaces %s, which %s does not contain", r.source, r.path, r.module)
		}
		if err := writeFile(replaced, r.content); err != nil {
			return err
		}
	}
	content, err := goMod.Format()
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(source, "go.mod"), content)
}

// copyModule copies a module of the module cache to the folder target.
func copyModule(run runner, module, target string) error {
	dir, err := moduleDir(run, module)
	if err != nil {
		return err
	}
	if err := os.CopyFS(target, os.DirFS(dir)); err != nil {
		return err
	}
	goMod := filepath.Join(target, "go.mod")
	if _, err := os.Stat(goMod); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The module is older than modules. The go command accepts that only in the module cache.
	return writeFile(goMod, []byte("module "+module+"\n"))
}

// moduleDir returns a module's folder in the module cache. It downloads the module if it is missing.
func moduleDir(run runner, module string) (string, error) {
	out, err := run("go", "mod", "download", "-json", module)
	if err != nil {
		return "", err
	}
	var downloaded struct{ Dir string }
	if err := json.Unmarshal(out, &downloaded); err != nil {
		return "", fmt.Errorf("find the folder of %s: %w", module, err)
	}
	return downloaded.Dir, nil
}
