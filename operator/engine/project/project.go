// Package project reads Pulumi projects, and checks their declarations.
package project

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/strata-platform/strata/operator/engine/message"
	"github.com/strata-platform/strata/operator/untrusted"
)

// projectSize bounds the size of a project's Pulumi.yaml and of its stacks' settings,
// in bytes, because this process reads them.
const projectSize = 1 << 20

// projectFiles lists the names of a project's file, in the order in which pulumi looks
// for them.
var projectFiles = []string{"Pulumi.json", "Pulumi.yaml", "Pulumi.yml"}

const (
	// YAML is the runtime of programs in YAML.
	YAML = "yaml"

	// compilerOption is the option of the yaml runtime that runs a command.
	compilerOption = "compiler"
)

// validName matches the project names that Pulumi accepts. The backend has a folder of the project's name.
var validName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

// ValidName reports whether Pulumi accepts the name of a project.
func ValidName(name string) bool { return validName.MatchString(name) }

var runtimeName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// Project holds the fields of a Pulumi.yaml that this package uses.
type Project struct {
	Name    string          `json:"name"`
	Runtime json.RawMessage `json:"runtime"`

	// Config is the old name of StackConfigDir if it is a string.
	Config         json.RawMessage `json:"config"`
	StackConfigDir string          `json:"stackConfigDir"`

	// Main is the path of the program, relative to the folder of the project's file.
	Main string `json:"main"`

	// File is the path of the project's file, relative to the folder of the project's
	// files.
	File string `json:"-"`
}

// language is a project's runtime in the form with options.
type language struct {
	Name    string                     `json:"name"`
	Options map[string]json.RawMessage `json:"options"`
}

// parse returns the project's language. An empty name is invalid.
func (p *Project) parse() (language, error) {
	var long language
	if json.Unmarshal(p.Runtime, &long.Name) == nil || len(p.Runtime) == 0 {
		return long, nil
	}
	err := json.Unmarshal(p.Runtime, &long)
	return long, err
}

// Language returns the name of the project's language.
func (p *Project) Language() string {
	long, _ := p.parse() // Check reports the error.
	return long.Name
}

// Settings returns the path of a stack's settings file.
func (p *Project) Settings(stack string) string {
	dir := p.StackConfigDir
	if dir == "" {
		_ = json.Unmarshal(p.Config, &dir) // A value that is not a string is the project's config.
	}
	name := "Pulumi." + stack[strings.LastIndexByte(stack, '/')+1:] + path.Ext(p.File)
	return path.Join(path.Dir(p.File), filepath.ToSlash(dir), name)
}

// Read reads the project's file in the folder dir below root.
func Read(root *os.Root, dir string) (*Project, error) {
	// Like upstream, treat an absolute path as relative to the root of the source.
	dir = path.Clean(strings.TrimLeft(filepath.ToSlash(dir), "/"))
	if !filepath.IsLocal(filepath.FromSlash(dir)) {
		return nil, fmt.Errorf("its folder %q is not a path within the source: give a path relative to its root", dir)
	}
	for _, name := range projectFiles {
		file := path.Join(dir, name)
		data, err := ReadFile(root, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("its %s cannot be read: %w", file, err)
		}
		found := &Project{File: file}
		if err := DecodeYAML(data, found); err != nil {
			return nil, fmt.Errorf("its %s is not valid: %s", file, message.YAMLFault(err))
		}
		return found, nil
	}
	where := "at its root"
	if dir != "." {
		where = "in its folder " + dir
	}
	return nil, fmt.Errorf("it has no Pulumi.yaml %s: name the folder that holds it", where)
}

// ReadFile reads a file of the project, and follows links within root.
func ReadFile(root *os.Root, name string) ([]byte, error) {
	return untrusted.Read(root, name, projectSize)
}

// CheckMain rejects a program that is not among the project's files. A run can read no
// others.
func (p *Project) CheckMain(root *os.Root) error {
	if p.Main == "" {
		return nil
	}
	main := filepath.FromSlash(p.Main)
	if !filepath.IsAbs(main) {
		_, err := root.Stat(filepath.Join(filepath.FromSlash(path.Dir(p.File)), main))
		if err == nil {
			return nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("its %s sets main to %q, which does not exist: give the path of the program's folder, relative to the folder of %s", p.File, p.Main, path.Base(p.File))
		}
	}
	return fmt.Errorf("its %s sets main to %q, which is not among the project's files: a run can read no other files; give a path relative to the folder of %s", p.File, p.Main, path.Base(p.File))
}

// CheckProgram rejects a YAML project without a program file, because the language host would exit.
func (p *Project) CheckProgram(root *os.Root) error {
	if p.Language() != YAML {
		return nil
	}
	dir, err := p.ProgramFolder(root)
	if err != nil {
		return err
	}
	for _, name := range ProgramFiles {
		if _, err := root.Stat(filepath.FromSlash(path.Join(dir, name))); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return fmt.Errorf("it has no program in its folder %s: programs in YAML are in %s", dir, strings.Join(ProgramFiles, " or "))
}

// Check rejects a project that pulumi would reject later with a less clear error. want is the name that the project must
// have; an empty want accepts every valid name.
func (p *Project) Check(want string) error {
	long, err := p.parse()
	_, compiled := long.Options[compilerOption]
	switch name := long.Name; {
	case err != nil:
		return fmt.Errorf("its %s is not valid: runtime is neither a name nor a name with options", p.File)
	case p.Name == "":
		return fmt.Errorf("its %s has no name: every project has one", p.File)
	case !ValidName(p.Name):
		return fmt.Errorf("its %s names the project %s: use at most 100 letters, digits, '-', '_' and '.', with neither '-' nor '.' first", p.File, message.ShortName(p.Name))
	case want != "" && p.Name != want:
		return fmt.Errorf("its %s names the project %q, but the stack belongs to %q: rename the project, or create a new Stack", p.File, p.Name, want)
	case name == "":
		return fmt.Errorf("its %s has no runtime: name the project's language, for example yaml", p.File)
	case !runtimeName.MatchString(name):
		return fmt.Errorf("its %s has the runtime %q, which is not the name of a language", p.File, name)
	case name == YAML && compiled:
		return fmt.Errorf("its %s sets runtime.options.%s, a command that generates the program, and the operator runs no such command: remove it, and commit the YAML that the command generates", p.File, compilerOption)
	}
	return nil
}
