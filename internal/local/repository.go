package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/check/kept"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/local/repositories"
	"github.com/strata-platform/strata/internal/local/schemas"
	"github.com/strata-platform/strata/internal/parts"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/operator/engine/events"
)

// repositories returns the repositories of the home on the running Git server.
func (p *Platform) repositories(running supervisor.Status) (repositories.Repositories, error) {
	all := repositories.Repositories{Home: p.Home, Root: p.Repository.Root, URL: running.GitURL, Create: p.client.CreateRepository}
	if port := running.Ports[supervisor.RegistryPort]; port != 0 {
		all.Registry = fmt.Sprintf("127.0.0.1:%d", port)
	}
	all.Kept = func(ctx context.Context, team string) (map[string][]byte, error) {
		// Without the plugins the schema has fewer properties, and a check names the command that completes it.
		open := func() (*toolchain.Toolchain, error) { return p.Toolchain, nil }
		files, _, err := kept.Files(p.teamsFile(), team, schemas.Folders(ctx, open, "")...)
		return files, err
	}
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
	return p.Repository.CheckPins(buildinfo.Version)
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

// announce returns the step that names the organisation's own programs, which the layers' steps compile and run, or none if
// there are none.
func (p *Platform) announce() []lifecycle.Step {
	if !p.Repository.Organisation {
		return nil
	}
	var own []string
	for _, layer := range []string{lifecycle.BootstrapLayer, lifecycle.PlatformLayer} {
		// The layer's own step reports an error.
		if program, err := p.Repository.Program(layer); err == nil && program.Own != "" {
			own = append(own, program.Own)
		}
	}
	if len(own) == 0 {
		return nil
	}
	return []lifecycle.Step{{Name: "programs of this repository", Do: func(context.Context, *progress.Reporter) (string, error) {
		return "compiled and run, because " + strings.Join(own, ", "), p.checkPins()
	}}}
}

// checked is a runner that runs a program only if the repository pins this strata, and compiles the organisation's own
// program first. Operations that run no program need neither.
type checked struct {
	layers.Runner
	platform *Platform
}

// Up implements [lifecycle.Runner].
func (c checked) Up(ctx context.Context, l layers.Layer, report layers.Progress) (layers.Summary, error) {
	if err := c.ready(ctx, l, report); err != nil {
		return layers.Summary{}, err
	}
	summary, err := c.Runner.Up(ctx, l, report)
	if err == nil && l.Name == lifecycle.PlatformLayer {
		err = c.platform.createRestored(ctx)
	}
	return summary, err
}

// Preview implements [lifecycle.Runner].
func (c checked) Preview(ctx context.Context, l layers.Layer, report layers.Progress) (layers.Summary, error) {
	if err := c.ready(ctx, l, report); err != nil {
		return layers.Summary{}, err
	}
	return c.Runner.Preview(ctx, l, report)
}

// Plan is [layers.Runner.Plan].
func (c checked) Plan(ctx context.Context, l layers.Layer, report layers.Progress) (*events.Plan, error) {
	if err := c.ready(ctx, l, report); err != nil {
		return nil, err
	}
	return c.Runner.Plan(ctx, l, report)
}

// ready checks the pins and compiles the layer's program.
func (c checked) ready(ctx context.Context, l layers.Layer, report layers.Progress) error {
	if err := c.platform.checkPins(); err != nil {
		return err
	}
	if l.Executable == "" {
		return nil
	}
	if report != nil {
		report("compile", "the program in "+l.RunsIn)
	}
	program, err := c.platform.Repository.Program(l.Name)
	if err == nil {
		err = program.Build(ctx, l.Executable)
	}
	if err != nil {
		return fmt.Errorf("layer %s: %w", l.Name, err)
	}
	return nil
}
