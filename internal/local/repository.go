package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/local/repositories"
	"github.com/strata-platform/strata/internal/parts"
	"github.com/strata-platform/strata/internal/progress"
)

// repositories returns the repositories of the home on the running Git server.
func (p *Platform) repositories(running supervisor.Status) (repositories.Repositories, error) {
	all := repositories.Repositories{Home: p.Home, Root: p.Repository.Root, URL: running.GitURL, Create: p.client.CreateRepository}
	if !p.Repository.Organisation {
		all.Example = os.DirFS(filepath.Join(p.Repository.Root, filepath.FromSlash(repositories.FirstTeamFiles)))
		return all, nil
	}
	pinned, err := p.Repository.Pins()
	if err != nil {
		return all, err
	}
	layer3, err := parts.Sync()
	if err != nil {
		return all, err
	}
	all.Layer3, all.Branch = &layer3, pinned.Branch()
	all.Example, err = parts.Example()
	return all, err
}

// checkPins returns an error unless this strata is the one that the repository pins.
func (p *Platform) checkPins() error {
	if !p.Repository.Organisation {
		return nil
	}
	return p.Repository.CheckPins(p.Version)
}

// program completes a layer with its program: the one in strata, or the organisation's own.
func (p *Platform) program(l layers.Layer, project lifecycle.Project) (layers.Layer, error) {
	if !p.Repository.Organisation {
		l.Program = project.Program
		return l, nil
	}
	program, err := p.Repository.Program(l.Name)
	if err != nil {
		return l, err
	}
	if program.Own == "" {
		l.Program = project.Program
		return l, nil
	}
	l.Executable, l.RunsIn = p.executableOf(l.Name), program.Folder
	return l, nil
}

// executableOf returns the path of a layer's compiled program.
func (p *Platform) executableOf(layer string) string {
	return filepath.Join(p.Home.Layer(layer), "program", "main")
}

// compile returns the step that compiles the organisation's own programs, or none if there are none.
func (p *Platform) compile() []lifecycle.Step {
	if !p.Repository.Organisation {
		return nil
	}
	var own []string
	for _, layer := range []string{lifecycle.BootstrapLayer, lifecycle.PlatformLayer} {
		// The layer's own step reports the error.
		if program, err := p.Repository.Program(layer); err == nil && program.Own != "" {
			own = append(own, layer)
		}
	}
	if len(own) == 0 {
		return nil
	}
	return []lifecycle.Step{{Name: "compile the programs in " + p.Repository.Root, Do: func(ctx context.Context, show *progress.Reporter) (string, error) {
		var reasons []string
		for _, layer := range own {
			program, err := p.Repository.Program(layer)
			if err != nil {
				return "", err
			}
			show.Detail("layer %s", layer)
			if err := program.Build(ctx, p.executableOf(layer)); err != nil {
				return "", fmt.Errorf("layer %s: %w", layer, err)
			}
			reasons = append(reasons, program.Own)
		}
		return strings.Join(reasons, ", "), nil
	}}}
}

// missingProgram returns an error if a layer's own program has to be compiled first.
func missingProgram(l layers.Layer, up string) error {
	if l.Executable == "" {
		return nil
	}
	if _, err := os.Stat(l.Executable); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("layer %s: its program in %s is not compiled: run `%s`", l.Name, l.RunsIn, up)
	}
	return nil
}
