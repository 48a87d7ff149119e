package local

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/internal/local/machine/doctor"
	"github.com/strata-platform/strata/internal/local/machine/pulumienv"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/toolchain"
)

// ControlPlaneTools are the programs of the toolchain that a cluster needs.
var ControlPlaneTools = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// tools returns all tools that `strata up` needs.
func tools() []string {
	list := append([]string{}, ControlPlaneTools...)
	list = append(list, pulumienv.Tools...)
	list = append(list, "flux-manifests")
	list = append(list, fluxcd.DefaultComponents()...)
	return append(list, "dolt")
}

// EnsureTools builds those of the named tools that are missing, and shows progress.
func (p *Platform) EnsureTools(ctx context.Context, show *progress.Reporter, names ...string) error {
	built := 0
	err := p.Toolchain.Ensure(ctx, func(e toolchain.Event) {
		show.Detail("%s", e)
		// Builds take minutes, so the progress must show even without a terminal.
		if !show.Terminal() || e.Progress == toolchain.Built {
			show.Note("%s", e)
		}
		if e.Progress == toolchain.Built {
			built++
		}
	}, names...)
	if err != nil {
		return err
	}
	if built > 0 {
		show.Detail("%d built", built)
	}
	return nil
}

// Up carries the platform through every layer and waits until everything is ready. It can run again at any time and
// skips finished work.
func (p *Platform) Up(ctx context.Context, show *progress.Reporter) (status.Report, error) {
	// The check changes nothing, so that Up creates a home only on a suitable machine.
	if err := show.Run("this machine", func() (string, error) { return p.checkMachine(ctx) }); err != nil {
		return status.Report{}, err
	}
	release, err := p.Lock()
	if err != nil {
		return status.Report{}, err
	}
	defer release()
	var running supervisor.Status
	var report status.Report
	steps := []struct {
		name string
		do   func() (string, error)
	}{
		{"toolchain", func() (string, error) {
			return "", p.EnsureTools(ctx, show, tools()...)
		}},
		{"emulated Google Cloud and Git server", func() (string, error) {
			var err error
			running, err = p.Start(ctx)
			return running.GoogleURL, err
		}},
		{"repositories fleet, platform and the teams'", func() (string, error) {
			return "", p.EnsureRepositories(ctx, running, show.Note)
		}},
		{"layer 1: bootstrap", func() (string, error) {
			if err := p.endFormerHops(ctx, show); err != nil {
				return "", err
			}
			return p.upLayer(ctx, show, BootstrapLayer)
		}},
		{"layer 2: platform", func() (string, error) { return p.upLayer(ctx, show, PlatformLayer) }},
		{"layers 3 and 4: Flux and the operator", func() (string, error) {
			var err error
			report, err = p.WaitReady(ctx, func(i status.Item) {
				show.Detail("waiting for %s", i)
			})
			return "everything is ready", err
		}},
	}
	for _, step := range steps {
		if err := show.Run(step.name, step.do); err != nil {
			return report, err
		}
	}
	return report, nil
}

// checkMachine returns the quick findings of doctor about this machine. If anything is lacking, it returns an error
// that lists everything lacking.
func (p *Platform) checkMachine(ctx context.Context) (string, error) {
	report := doctor.Check(doctor.LookFast(ctx, p.Toolchain, p.Home))
	if lacking := report.Of(doctor.Lacking); len(lacking) > 0 {
		var found []string
		for _, f := range lacking {
			found = append(found, fmt.Sprintf("%s: %s: %s", f.Check, f.Found, f.Remedy))
		}
		return "", errors.New("this machine lacks what is needed, and nothing was changed: " + strings.Join(found, "; "))
	}
	warnings := report.Of(doctor.Warning)
	if len(warnings) == 0 {
		return "has what is needed", nil
	}
	var names []string
	for _, f := range warnings {
		names = append(names, f.Check)
	}
	return fmt.Sprintf("has what is needed; `%s` warns of: %s", p.Home.Call("doctor"), strings.Join(names, ", ")), nil
}

func (p *Platform) upLayer(ctx context.Context, show *progress.Reporter, layer string) (string, error) {
	summary, err := p.LayerUp(ctx, layer, func(operation, resource string) { show.Detail("%s %s", operation, resource) })
	return summary.String(), err
}

// NextSteps returns commands to try after Up, each with its purpose.
func (p *Platform) NextSteps(ctx context.Context) ([]string, error) {
	running, err := p.client.Status(ctx)
	if err != nil {
		return nil, err
	}
	list, err := p.Teams()
	if err != nil {
		return nil, err
	}
	steps := []string{p.Home.Call("status")}
	for _, team := range list[:min(1, len(list))] {
		steps = append(steps, p.CloneCommand(running, team.Name, team.Name))
		if _, err := exec.LookPath("kubectl"); err == nil {
			return append(steps, fmt.Sprintf("kubectl --kubeconfig \"$(%s)\" get stacks,pods,secrets", p.Home.Call("kubeconfig --team "+team.Name))), nil
		}
	}
	return append(steps, p.Home.Call("team list")), nil
}

// Describe lists the resources of each layer, with the identities that created them.
func (p *Platform) Describe(ctx context.Context) ([]string, error) {
	outputs, err := p.LayerOutputs(ctx, BootstrapLayer, false)
	if err != nil {
		return nil, err
	}
	text := func(name string) string {
		s, _ := outputs[name].(string)
		return s
	}
	list, err := p.Teams()
	if err != nil {
		return nil, err
	}
	var teams []string
	for _, t := range list {
		teams = append(teams, t.Name)
	}
	running, err := p.client.Status(ctx)
	if err != nil {
		return nil, err
	}
	address, err := p.instanceAddress(ctx, running, text("instance"))
	if err != nil {
		return nil, err
	}
	lines := []string{
		fmt.Sprintf("1 bootstrap  as %s: cluster %s, Cloud SQL instance %s (MySQL on %s), a Google identity for each team (%s)",
			supervisor.Engineer, clusterName, text("instance"), address, strings.Join(teams, ", ")),
		"2 platform   as the cluster's administrator, without any cloud rights: Flux, the account platform, a hop for each team",
		"3 sync       as the account platform: the operator for Program and Stack",
	}
	stacks, err := p.stackLines(ctx)
	return append(lines, stacks...), err
}

// Prepare prepares the run of a single layer: it builds the tools and starts the supervisor. With repositories, for
// up, it also ensures the repositories.
func (p *Platform) Prepare(ctx context.Context, show *progress.Reporter, repositories bool) error {
	if err := p.EnsureTools(ctx, show, tools()...); err != nil {
		return err
	}
	running, err := p.Start(ctx)
	if err != nil || !repositories {
		return err
	}
	return p.EnsureRepositories(ctx, running, show.Note)
}

// StartCluster starts the control plane and its node without any layer.
func (p *Platform) StartCluster(ctx context.Context, show *progress.Reporter) error {
	release, err := p.Lock()
	if err != nil {
		return err
	}
	defer release()
	err = show.Run("toolchain", func() (string, error) {
		return "", p.EnsureTools(ctx, show, append(ControlPlaneTools, pulumienv.Tools...)...)
	})
	if err != nil {
		return err
	}
	return show.Run("control plane and node", func() (string, error) {
		if _, err := p.Start(ctx); err != nil {
			return "", err
		}
		waiting, done := context.WithCancel(ctx)
		defer done()
		go p.showWaiting(waiting, show)
		return "ready", p.client.StartCluster(ctx)
	})
}

// showWaiting shows what the cluster's start waits for, until ctx is done.
func (p *Platform) showWaiting(ctx context.Context, show *progress.Reporter) {
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if s, err := p.client.Status(ctx); err == nil && s.Waiting != "" {
				show.Detail("waiting for %s", s.Waiting)
			}
		}
	}
}
