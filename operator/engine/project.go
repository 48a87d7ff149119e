package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/operator/engine/message"
	"github.com/strata-platform/strata/operator/engine/sandbox"
	"github.com/strata-platform/strata/operator/untrusted"
)

// projectSize bounds the size of a project's Pulumi.yaml and of its stacks' settings,
// in bytes, because this process reads them.
const projectSize = 1 << 20

// projectFiles lists the names of a project's file, in the order in which pulumi looks
// for them.
var projectFiles = []string{"Pulumi.json", "Pulumi.yaml", "Pulumi.yml"}

const (
	yamlRuntime = "yaml"

	// compilerOption is the option of the yaml runtime that runs a command.
	compilerOption = "compiler"
)

var runtimeName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// project holds the fields of a Pulumi.yaml that this package uses.
type project struct {
	Name    string          `json:"name"`
	Runtime json.RawMessage `json:"runtime"`

	// Config is the old name of StackConfigDir if it is a string.
	Config         json.RawMessage `json:"config"`
	StackConfigDir string          `json:"stackConfigDir"`

	// Main is the path of the program, relative to the folder of the project's file.
	Main string `json:"main"`

	// file is the path of the project's file, relative to the folder of the project's
	// files.
	file string
}

// language is a project's runtime in the form with options.
type language struct {
	Name    string                     `json:"name"`
	Options map[string]json.RawMessage `json:"options"`
}

// language returns the project's language. An empty name is invalid.
func (p *project) language() (language, error) {
	var long language
	if json.Unmarshal(p.Runtime, &long.Name) == nil || len(p.Runtime) == 0 {
		return long, nil
	}
	err := json.Unmarshal(p.Runtime, &long)
	return long, err
}

// runtime returns the name of the project's language.
func (p *project) runtime() string {
	long, _ := p.language() // check has checked it.
	return long.Name
}

// settings returns the path of a stack's settings file.
func (p *project) settings(stack string) string {
	dir := p.StackConfigDir
	if dir == "" {
		_ = json.Unmarshal(p.Config, &dir) // A value that is not a string is the project's config.
	}
	name := "Pulumi." + stack[strings.LastIndexByte(stack, '/')+1:] + path.Ext(p.file)
	return path.Join(path.Dir(p.file), filepath.ToSlash(dir), name)
}

// fetch writes the project's files into the run's folder, and reads and checks the
// project.
func (r *run) fetch(ctx context.Context) error {
	files := filepath.Join(r.dir, projectFolder)
	if err := os.Mkdir(files, 0o700); err != nil {
		return fmt.Errorf("make the run's folder %s: %w", projectFolder, err)
	}
	// The files may contain links, so the engine accesses them through a root.
	root, err := os.OpenRoot(files)
	if err != nil {
		return fmt.Errorf("open the run's folder %s: %w", projectFolder, err)
	}
	r.files = root
	if r.Source == nil {
		if err := r.writeProgram(files); err != nil {
			return fmt.Errorf("prepare the project of stack %q: %w", r.Stack, err)
		}
	} else if r.revision, err = r.Source.Fetch(ctx, files); err != nil {
		failure := r.failure(SourceUnavailable, "%s", r.mask.Apply(message.OneLine(err.Error())))
		failure.Err = err
		return failure
	}
	found, err := readProject(root, r.Path)
	if err == nil {
		err = r.check(found)
	}
	if err == nil {
		err = found.checkMain(root)
	}
	if err == nil {
		err = found.checkProgram(root)
	}
	if err == nil {
		err = r.checkAllowed(root, found)
	}
	if err != nil {
		if asError(err) == nil {
			err = r.failure(ProjectInvalid, "%v", err)
		}
		return err
	}
	r.project, r.workDir = *found, filepath.Join(files, filepath.FromSlash(path.Dir(found.file)))
	r.Project = found.Name
	return r.writeSettings(root)
}

// writeProgram writes a Pulumi.yaml from the request's Program, or an empty one if
// there is none.
func (r *run) writeProgram(files string) error {
	program := r.Program
	if program == nil {
		var err error
		if program, err = yaml.Marshal(map[string]string{"name": r.Project, "runtime": yamlRuntime}); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(files, "Pulumi.yaml"), program, 0o600)
}

// readProject reads the project's file in the folder dir below root.
func readProject(root *os.Root, dir string) (*project, error) {
	// Like upstream, treat an absolute path as relative to the root of the source.
	dir = path.Clean(strings.TrimLeft(filepath.ToSlash(dir), "/"))
	if !filepath.IsLocal(filepath.FromSlash(dir)) {
		return nil, fmt.Errorf("its folder %q is no path within the source: give one relative to its root", dir)
	}
	for _, name := range projectFiles {
		file := path.Join(dir, name)
		data, err := readFile(root, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("its %s cannot be read: %w", file, err)
		}
		found := &project{file: file}
		if err := decodeYAML(data, found); err != nil {
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

// readFile reads a file of the project, and follows links within root.
func readFile(root *os.Root, name string) ([]byte, error) {
	return untrusted.Read(root, name, projectSize)
}

// check rejects projects that pulumi would reject later with a less clear error.
func (r *run) check(p *project) error {
	long, err := p.language()
	_, compiled := long.Options[compilerOption]
	switch name := long.Name; {
	case err != nil:
		return fmt.Errorf("its %s is not valid: runtime is neither a name nor a name with options", p.file)
	case p.Name == "":
		return fmt.Errorf("its %s has no name: every project has one", p.file)
	case !projectName.MatchString(p.Name):
		return fmt.Errorf("its %s names the project %s: use at most 100 letters, digits, '-', '_' and '.', with neither '-' nor '.' first", p.file, message.ShortName(p.Name))
	case r.Project != "" && p.Name != r.Project:
		return fmt.Errorf("its %s names the project %q, but the stack belongs to %q: rename it, or make a new stack", p.file, p.Name, r.Project)
	case name == "":
		return fmt.Errorf("its %s has no runtime: name the project's language, for example yaml", p.file)
	case !runtimeName.MatchString(name):
		return fmt.Errorf("its %s has the runtime %q, which is no name of a language", p.file, name)
	case name == yamlRuntime && compiled:
		return fmt.Errorf("its %s sets runtime.options.%s, a command that makes the program: none is executed here; remove it, and commit the YAML that the command makes", p.file, compilerOption)
	default:
		host := "pulumi-language-" + name
		if _, err := sandbox.LookPath(host, sandbox.Value(r.env, "PATH")); err != nil {
			return r.failure(RuntimeMissing, "runtime %q of project %q is not installed here: there is no %s on the PATH of runs; use one that is, for example yaml", name, p.Name, host)
		}
		return nil
	}
}

// checkMain rejects a program that is not among the project's files. A run can read no
// others.
func (p *project) checkMain(root *os.Root) error {
	if p.Main == "" {
		return nil
	}
	main := filepath.FromSlash(p.Main)
	if !filepath.IsAbs(main) {
		_, err := root.Stat(filepath.Join(filepath.FromSlash(path.Dir(p.file)), main))
		if err == nil {
			return nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("its %s sets main to %q, which is not there: name the program's folder, from that of %s", p.file, p.Main, path.Base(p.file))
		}
	}
	return fmt.Errorf("its %s sets main to %q, which is not among the project's files: a run reads no others; name a folder by its path from that of %s", p.file, p.Main, path.Base(p.file))
}

// checkProgram rejects a YAML project without a program file, because the language host would exit.
func (p *project) checkProgram(root *os.Root) error {
	if p.runtime() != yamlRuntime {
		return nil
	}
	dir, err := p.programFolder(root)
	if err != nil {
		return err
	}
	for _, name := range programFiles {
		if _, err := root.Stat(filepath.FromSlash(path.Join(dir, name))); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	return fmt.Errorf("it has no program in its folder %s: programs in YAML are in %s", dir, strings.Join(programFiles, " or "))
}

// writeSettings writes the stack's settings. If the project has a settings file,
// writeSettings merges the request's config into it. The request's config takes
// precedence.
func (r *run) writeSettings(root *os.Root) error {
	file := r.project.settings(r.Stack)
	settings := map[string]any{}
	data, err := readFile(root, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return r.failure(ProjectInvalid, "its %s cannot be read: %v", file, err)
	default:
		if err := decodeYAML(data, &settings); err != nil {
			return r.failure(ProjectInvalid, "its %s is not valid: %s", file, message.YAMLFault(err))
		}
	}
	config, ok := settings["config"].(map[string]any)
	if !ok && settings["config"] != nil {
		return r.failure(ProjectInvalid, "its %s is not valid: config is no map", file)
	}
	merged := map[string]any{}
	for key, value := range config {
		merged[r.configKey(key)] = value
	}
	for key, value := range r.Config {
		merged[r.configKey(key)] = value
	}
	if settings == nil {
		settings = map[string]any{}
	}
	settings["config"] = merged
	if data, err = yaml.Marshal(settings); err == nil && path.Ext(file) == ".json" {
		data, err = yaml.YAMLToJSON(data)
	}
	if err != nil {
		return fmt.Errorf("write config of stack %q: %w", r.Stack, err)
	}
	if err := untrusted.Write(root, file, data); err != nil {
		return fmt.Errorf("write config of stack %q: %w", r.Stack, err)
	}
	return nil
}
