package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/operator/engine/layout"
	"github.com/strata-platform/strata/operator/engine/message"
	"github.com/strata-platform/strata/operator/engine/project"
	"github.com/strata-platform/strata/operator/engine/settings"
	"github.com/strata-platform/strata/operator/environ"
)

// fetch writes the project's files into the run's folder, and reads and checks the
// project.
func (r *run) fetch(ctx context.Context) error {
	files := filepath.Join(r.dir, layout.Project)
	if err := os.Mkdir(files, 0o700); err != nil {
		return fmt.Errorf("make the run's folder %s: %w", layout.Project, err)
	}
	// The files may contain links, so the engine accesses them through a root.
	root, err := os.OpenRoot(files)
	if err != nil {
		return fmt.Errorf("open the run's folder %s: %w", layout.Project, err)
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
	if r.Allowed != nil {
		err = r.settings().CheckProvider(r.SecretsProvider)
	}
	if err == nil {
		err = r.settings().Merge(r.Config)
	}
	if wrong := (*settings.InvalidError)(nil); errors.As(err, &wrong) {
		return r.failure(ProjectInvalid, "%v", wrong)
	}
	return err
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
	if _, err := environ.LookPath(host, environ.Variable(r.env, "PATH")); err != nil {
		return r.failure(RuntimeMissing, "runtime %q of project %q is not installed here: there is no %s on the PATH of runs; use an installed runtime, for example yaml", p.Language(), p.Name, host)
	}
	return nil
}

// settings returns the stack's settings file.
func (r *run) settings() settings.File {
	return settings.File{Root: r.files, Path: r.project.Settings(r.Stack), Project: r.Project, Stack: r.Stack}
}

// encrypt writes the secret config into the stack's settings.
func (r *run) encrypt(ctx context.Context) error {
	if r.hidden != nil && r.hidden.Key != nil {
		return r.settings().EncryptBy(ctx, r.hidden.Key, HiddenValue, r.SecretConfig)
	}
	passphrase := environ.Variable(r.env, settings.PassphraseVariable)
	if !settings.ByPassphrase(r.SecretsProvider) {
		passphrase = ""
	}
	err := r.settings().Encrypt(ctx, r.crypters, settings.Secrets{
		Values: r.SecretConfig, Backend: environ.Variable(r.env, "PULUMI_BACKEND_URL"), Passphrase: passphrase,
		Set: func(ctx context.Context, key, value string) error {
			// The value goes through standard input, because other processes can read a command
			// line.
			_, err := r.pulumi(ctx, []byte(value), "config", "set", "--secret", "--", key)
			return err
		},
	})
	if wrong := (*settings.KeyError)(nil); errors.As(err, &wrong) {
		return r.failure(Failed, "%v", wrong)
	}
	return err
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
