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

	"github.com/strata-platform/strata/operator/engine/sandbox"
	"github.com/strata-platform/strata/operator/untrusted"
)

// projectSize bounds the size of a project's Pulumi.yaml and of its stacks'
// settings: this process reads them.
const projectSize = 1 << 20

// projectFiles are the names of a project's file, in the order in which pulumi
// looks for them.
var projectFiles = []string{"Pulumi.json", "Pulumi.yaml", "Pulumi.yml"}

const (
	yamlRuntime = "yaml"

	// compilerOption is the option of the language yaml that executes a command.
	compilerOption = "compiler"
)

var runtimeName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// project is what this package needs to know of a Pulumi.yaml.
type project struct {
	Name    string          `json:"name"`
	Runtime json.RawMessage `json:"runtime"`

	// Config is the old name of StackConfigDir where it is a string.
	Config         json.RawMessage `json:"config"`
	StackConfigDir string          `json:"stackConfigDir"`

	// Main is the path of the program, from the folder of the project's file.
	Main string `json:"main"`

	// file is the path of the file, below the folder of the project's files.
	file string
}

// language is a project's runtime in its long form.
type language struct {
	Name    string                     `json:"name"`
	Options map[string]json.RawMessage `json:"options"`
}

// language returns the project's language; no name is an invalid one.
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
	long, _ := p.language() // It was checked.
	return long.Name
}

// settings returns the path of the file with a stack's settings.
func (p *project) settings(stack string) string {
	dir := p.StackConfigDir
	if dir == "" {
		_ = json.Unmarshal(p.Config, &dir) // It is the project's config where it is no string.
	}
	name := "Pulumi." + stack[strings.LastIndexByte(stack, '/')+1:] + path.Ext(p.file)
	return path.Join(path.Dir(p.file), filepath.ToSlash(dir), name)
}

// fetch puts the project's files into the run's folder and reads what they are.
func (r *run) fetch(ctx context.Context) error {
	files := filepath.Join(r.dir, projectFolder)
	if err := os.Mkdir(files, 0o700); err != nil {
		return fmt.Errorf("make the run's folder %s: %w", projectFolder, err)
	}
	// Whoever writes the files may put links among them.
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
		failure := r.failure(SourceUnavailable, "%s", r.mask.apply(oneLine(err.Error())))
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

// writeProgram writes the project of a request that holds its Program, or none.
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

// readProject reads the project's file in a folder below root.
func readProject(root *os.Root, dir string) (*project, error) {
	// As upstream does, a path from the root of the source is taken for what is meant.
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
			return nil, fmt.Errorf("its %s is not valid: %s", file, yamlFault(err))
		}
		return found, nil
	}
	where := "at its root"
	if dir != "." {
		where = "in its folder " + dir
	}
	return nil, fmt.Errorf("it has no Pulumi.yaml %s: name the folder that holds it", where)
}

// readFile reads a file of the project, which may be a link to another one.
func readFile(root *os.Root, name string) ([]byte, error) {
	return untrusted.Read(root, name, projectSize)
}

// check finds what pulumi would only say later, and less plainly.
func (r *run) check(p *project) error {
	long, err := p.language()
	_, compiled := long.Options[compilerOption]
	switch name := long.Name; {
	case err != nil:
		return fmt.Errorf("its %s is not valid: runtime is neither a name nor a name with options", p.file)
	case p.Name == "":
		return fmt.Errorf("its %s has no name: every project has one", p.file)
	case !projectName.MatchString(p.Name):
		return fmt.Errorf("its %s names the project %s: use at most 100 letters, digits, '-', '_' and '.', with neither '-' nor '.' first", p.file, shortName(p.Name))
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

// checkMain refuses a program that is not among the project's files, the only ones
// that a run reads.
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

// checkProgram refuses a project in YAML without a file that its language host reads, which would end it.
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

// writeSettings writes the stack's settings: those in the project's own file, if
// it has one, and over them the request's config.
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
			return r.failure(ProjectInvalid, "its %s is not valid: %s", file, yamlFault(err))
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
