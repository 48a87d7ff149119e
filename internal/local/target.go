package local

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/doctor"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/pulumienv"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/local/tools"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/publish"
	"github.com/strata-platform/strata/teams"
)

var _ lifecycle.Target = (*Platform)(nil)

// Bounds of the waits on this target. Destroying a Stack takes seconds, and deleting a namespace five seconds. A newly
// started API server takes half a minute to load the parameters of its policies.
const (
	readyTimeout = 5 * time.Minute
	readyPoll    = 250 * time.Millisecond

	teardownPatience = 40 * time.Second
	teardownLimit    = 3 * time.Minute
)

// About implements [lifecycle.Target].
func (p *Platform) About() lifecycle.About {
	return lifecycle.About{
		Place: "the platform in " + p.Home.Dir(), Engineer: supervisor.Engineer, Operator: "the operator for Program and Stack",
		TeamsFile: p.teamsFile(), Call: p.Home.Call,
		// Strata protects no resource on this target, so a user has protected it.
		Unprotect: fmt.Sprintf("run `eval \"$(%s)\"`, then `pulumi state unprotect --all --cwd bootstrap`", p.Home.Call("env "+lifecycle.BootstrapLayer)),
		Reconnect: fmt.Sprintf("run `%s`, and `%s` to start it again", p.Home.Call("local status"), p.Home.Call("up")),
		Kubectl:   `kubectl --kubeconfig "$(` + p.Home.Call("kubeconfig") + `)"`,
		FluxLogs:  p.Home.Call("logs kustomize-controller"), Purge: p.Home.Call("down --purge --yes"),
		Ready: readyTimeout, Poll: readyPoll, Patience: teardownPatience, Limit: teardownLimit,
	}
}

// Exists reports whether there is a home.
func (p *Platform) Exists() bool { return p.Home.Exists() }

// Journal returns the home, which records the current step of down.
func (p *Platform) Journal() lifecycle.Journal { return p.Home }

// Check returns the step that checks the requirements of this machine.
func (p *Platform) Check() lifecycle.Step {
	return lifecycle.Step{Name: "this machine", Do: func(ctx context.Context, _ *progress.Reporter) (string, error) { return p.checkMachine(ctx) }}
}

// checkMachine returns the quick findings of doctor about this machine. If a requirement is missing, it returns an error
// that lists all missing requirements.
func (p *Platform) checkMachine(ctx context.Context) (string, error) {
	if err := p.checkPins(); err != nil {
		return "", fmt.Errorf("%w: nothing was changed", err)
	}
	report := doctor.Check(doctor.LookFast(ctx, p.Toolchain, p.Home))
	if missing := report.Of(doctor.Missing); len(missing) > 0 {
		var found []string
		for _, f := range missing {
			found = append(found, fmt.Sprintf("%s: %s: %s", f.Check, f.Found, f.Remedy))
		}
		return "", errors.New("this machine does not meet the requirements, and nothing was changed: " + strings.Join(found, "; "))
	}
	warnings := report.Of(doctor.Warning)
	if len(warnings) == 0 {
		return "meets the requirements", nil
	}
	var names []string
	for _, f := range warnings {
		names = append(names, f.Check)
	}
	return fmt.Sprintf("meets the requirements; `%s` warns of: %s", p.Home.Call("doctor"), strings.Join(names, ", ")), nil
}

// Prepare returns the steps that build the tools and start the supervisor. With repositories, they build the tools of the
// cluster, too, and update the home's repositories.
func (p *Platform) Prepare(repositories bool) []lifecycle.Step {
	steps := []lifecycle.Step{
		{Name: "toolchain", Do: func(ctx context.Context, show *progress.Reporter) (string, error) {
			if !repositories {
				return "", tools.Ensure(ctx, p.Toolchain, show, append([]string{"flux-manifests"}, pulumienv.Tools...)...)
			}
			return "", tools.Ensure(ctx, p.Toolchain, show, tools.All()...)
		}},
		{Name: "emulated Google Cloud and Git server", Do: func(ctx context.Context, _ *progress.Reporter) (string, error) {
			if !repositories {
				running, err := p.Start(ctx)
				return running.GoogleURL, err
			}
			stopped, err := p.stopOther(ctx)
			if err != nil {
				return "", err
			}
			running, err := p.Start(ctx)
			if err != nil {
				return "", err
			}
			p.startClusterEarly(ctx)
			if stopped {
				return running.GoogleURL + ", restarted by this version of strata", nil
			}
			return running.GoogleURL, nil
		}},
	}
	if !repositories {
		return steps
	}
	steps = append(p.announce(), steps...)
	// Flux applies layer 3 from a clone of Strata as soon as it is pushed. Layer 2 selects the commit of an organisation's layer 3,
	// which must be there before.
	return append(steps, lifecycle.Step{Name: "repositories fleet, platform and the teams'", Applies: !p.Repository.Organisation, Do: func(ctx context.Context, show *progress.Reporter) (string, error) {
		running, err := p.client.Status(ctx)
		if err != nil {
			return "", err
		}
		list, err := p.Tenants()
		if err != nil {
			return "", err
		}
		return "", p.ensureRepositories(ctx, running, list, show)
	}})
}

// ensureRepositories creates and updates the home's repositories.
func (p *Platform) ensureRepositories(ctx context.Context, running supervisor.Status, list []teams.Team, show *progress.Reporter) error {
	if err := p.checkPins(); err != nil {
		return err
	}
	all, err := p.repositories(running)
	if err != nil {
		return err
	}
	if err := all.Ensure(ctx, list, show.Note); err != nil || p.Home.Source() != home.OCISource {
		return err
	}
	options, err := p.PlatformPublication(ctx)
	if err != nil {
		return err
	}
	result, err := publish.Publish(ctx, options)
	if err == nil && result.Origin.Commit == "" {
		show.Note("the artifact %s attests no commit: %s", result.Version, result.Origin.Reason)
	}
	return err
}

// Finish returns the steps that stop the programs of the home and, with purge, remove it. The user finds
// programs that still run by the home, so the home stays if the first step fails.
func (p *Platform) Finish(ctx context.Context, purge bool) []lifecycle.Step {
	stop := lifecycle.Step{Name: "stop all processes", What: "no process runs", Required: true, Do: func(ctx context.Context, _ *progress.Reporter) (string, error) {
		text := ""
		if !p.Home.Exists() {
			text = "there is no platform in " + p.Home.Dir()
		}
		return text, p.client.Stop(ctx)
	}}
	if running, err := p.client.Status(ctx); err == nil {
		stop.What = fmt.Sprintf("the supervisor (pid %d) and %d processes", running.Pid, len(running.Processes))
	}
	if !purge {
		return []lifecycle.Step{stop}
	}
	return []lifecycle.Step{stop, {Name: "remove " + p.Home.Dir(), Required: true, Do: func(context.Context, *progress.Reporter) (string, error) {
		return "", p.Home.Remove()
	}}}
}

// Next returns commands to try after up.
func (p *Platform) Next(ctx context.Context) ([]string, error) {
	running, err := p.client.Status(ctx)
	if err != nil {
		return nil, err
	}
	list, err := p.Teams()
	if err != nil {
		return nil, err
	}
	all, err := p.repositories(running)
	if err != nil {
		return nil, err
	}
	steps := []string{p.Home.Call("status")}
	for _, team := range list[:min(1, len(list))] {
		steps = append(steps, all.CloneCommand(team.Name, team.Name))
		if _, err := exec.LookPath("kubectl"); err == nil {
			return append(steps, fmt.Sprintf("kubectl --kubeconfig \"$(%s)\" get stacks,pods,secrets", p.Home.Call("kubeconfig --team "+team.Name))), nil
		}
	}
	return append(steps, p.Home.Call("team list")), nil
}
