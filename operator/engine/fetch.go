package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/operator/engine/message"
	"github.com/strata-platform/strata/operator/engine/project"
	"github.com/strata-platform/strata/operator/engine/sandbox"
	"github.com/strata-platform/strata/operator/untrusted"
)

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
	found, err := project.Read(root, r.Path)
	if err == nil {
		err = r.check(found)
	}
	if err == nil {
		err = found.CheckMain(root)
	}
	if err == nil {
		err = found.CheckProgram(root)
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
	r.project, r.workDir = *found, filepath.Join(files, filepath.FromSlash(path.Dir(found.File)))
	r.Project = found.Name
	return r.writeSettings(root)
}

// writeProgram writes a Pulumi.yaml from the request's Program, or an empty one if
// there is none.
func (r *run) writeProgram(files string) error {
	program := r.Program
	if program == nil {
		var err error
		if program, err = yaml.Marshal(map[string]string{"name": r.Project, "runtime": project.YAML}); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(files, "Pulumi.yaml"), program, 0o600)
}

// check rejects projects that pulumi would reject later with a less clear error.
func (r *run) check(p *project.Project) error {
	if err := p.Check(r.Project); err != nil {
		return err
	}
	host := "pulumi-language-" + p.Language()
	if _, err := sandbox.LookPath(host, sandbox.Value(r.env, "PATH")); err != nil {
		return r.failure(RuntimeMissing, "runtime %q of project %q is not installed here: there is no %s on the PATH of runs; use one that is, for example yaml", p.Language(), p.Name, host)
	}
	return nil
}

// writeSettings writes the stack's settings. If the project has a settings file,
// writeSettings merges the request's config into it. The request's config takes
// precedence.
func (r *run) writeSettings(root *os.Root) error {
	file := r.project.Settings(r.Stack)
	settings := map[string]any{}
	data, err := project.ReadFile(root, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return r.failure(ProjectInvalid, "its %s cannot be read: %v", file, err)
	default:
		if err := project.DecodeYAML(data, &settings); err != nil {
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

// checkAllowed refuses a project with a declaration that Allowed does not list. A nil Allowed permits everything.
func (r *run) checkAllowed(root *os.Root, p *project.Project) error {
	if r.Allowed == nil {
		return nil
	}
	err := p.Offence(root, r.Allowed)
	found := (*project.Offence)(nil)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &found):
		return r.failure(NotAllowed, "%s. %s", message.Place(found.File, found.Line, found.Message), r.Allowed.Refusal(found.Kind))
	}
	return err
}
