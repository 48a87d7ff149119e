package gke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/teardown"
	"github.com/strata-platform/strata/platform"
)

// Up checks the requirements of the layers, runs both layers, and waits until everything is ready. It is idempotent.
func (p *Platform) Up(ctx context.Context, show *progress.Reporter) (status.Report, error) {
	var report status.Report
	steps := []struct {
		name string
		do   func() (string, error)
	}{
		{"checks", func() (string, error) { return p.showChecks(ctx, show) }},
		{"layer 1: bootstrap", func() (string, error) {
			if err := p.endFormer(ctx, detail(show)); err != nil {
				return "", err
			}
			return p.upLayer(ctx, show, BootstrapLayer)
		}},
		{"layer 2: platform", func() (string, error) { return p.upLayer(ctx, show, PlatformLayer) }},
		{"layers 3 and 4: Flux and the operator", func() (string, error) {
			var err error
			report, err = p.WaitReady(ctx, func(i status.Item) { show.Detail("waiting for %s", i) })
			return "everything is ready", err
		}},
	}
	for _, step := range steps {
		if err := show.Run(step.name, step.do); err != nil {
			return report, p.interrupted(err)
		}
	}
	return report, nil
}

// interrupted replaces the error of an interrupted run by one that says what to do next.
func (p *Platform) interrupted(err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("interrupted; run the same command again to go on, `%s` to have everything, or `%s` to take it down", p.strataLine("up"), p.strataLine("down"))
}

// showChecks shows every finding. It returns an error if a requirement is missing, before any change.
func (p *Platform) showChecks(ctx context.Context, show *progress.Reporter) (string, error) {
	f, findings := p.check(ctx)
	if err := ctx.Err(); err != nil {
		return "", err
	}
	lacking := 0
	for _, finding := range findings {
		show.Note("%s", finding)
		if !finding.Note {
			lacking++
		}
	}
	if lacking > 0 {
		return "", fmt.Errorf("target gke, stack %s: %d of what the layers need is not there (✗): nothing was changed: mend it as said above and run this again", p.Environment, lacking)
	}
	return fmt.Sprintf("pulumi %s, %s as %s", f.pulumi, f.backend, f.user), nil
}

func (p *Platform) upLayer(ctx context.Context, show *progress.Reporter, layer string) (string, error) {
	summary, err := p.LayerUp(ctx, layer, detail(show))
	return summary.String(), err
}

// detail returns a Progress that shows the current operation.
func detail(show *progress.Reporter) layers.Progress {
	return func(operation, resource string) { show.Detail("%s %s", operation, resource) }
}

// Describe returns lines about the existing resources of each layer and the identity that created them.
func (p *Platform) Describe(ctx context.Context) ([]string, error) {
	first, err := p.LayerOutputs(ctx, BootstrapLayer, false)
	if err != nil {
		return nil, err
	}
	second, err := p.LayerOutputs(ctx, PlatformLayer, false)
	if err != nil {
		return nil, err
	}
	text := func(outputs map[string]any, name string) string {
		s, _ := outputs[name].(string)
		return s
	}
	list, err := p.Teams()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, team := range list {
		names = append(names, team.Name)
	}
	lines := []string{
		fmt.Sprintf("1 bootstrap  as %s: cluster %s, Cloud SQL instance %s, a Google identity for each team (%s)",
			engineer(), text(first, handoff.OutputCluster), text(first, handoff.OutputInstance), strings.Join(names, ", ")),
		fmt.Sprintf("2 platform   as the cluster's administrator, without any cloud rights: Flux %s, the account platform, a hop for each team",
			text(second, platform.OutputFluxVersion)),
		"3 sync       as the account platform: policies, upstream's operator for Program and Stack",
	}
	cluster, err := p.teardown(ctx)
	if err != nil {
		return nil, err
	}
	stacks, err := cluster.Stacks(ctx)
	if err != nil {
		return nil, err
	}
	return append(lines, p.stackLines(stacks)...), nil
}

// mostStackLines is the maximum number of Stacks to describe for each team.
const mostStackLines = 5

// stackLines describes the first Stacks of each namespace and counts the others. The Stacks of a namespace must be
// adjacent.
func (p *Platform) stackLines(stacks []teardown.Stack) []string {
	var lines []string
	for _, home := range slices.Compact(namespacesOf(stacks)) {
		begin := "4 " + fmt.Sprintf("%-10s", strings.TrimPrefix(home, "team-")) + " "
		count := 0
		for _, stack := range stacks {
			if stack.Namespace != home {
				continue
			}
			if count++; count <= mostStackLines {
				lines = append(lines, begin+"Stack "+stack.Name)
			}
		}
		if more := count - mostStackLines; more > 0 {
			lines = append(lines, fmt.Sprintf("%s… and %d more Stacks (%s)", begin, more, p.strataLine("status -o json")))
		}
	}
	return lines
}

func namespacesOf(stacks []teardown.Stack) []string {
	var list []string
	for _, stack := range stacks {
		list = append(list, stack.Namespace)
	}
	return list
}

// engineer returns the identity that runs layer 1, as far as the credentials reveal it.
func engineer() string {
	value := os.Getenv("GOOGLE_CREDENTIALS")
	if value == "" {
		value = os.Getenv("GOOGLE_APPLICATION_CREDENTIALS")
	}
	content := []byte(value)
	if !strings.HasPrefix(strings.TrimSpace(value), "{") {
		content, _ = os.ReadFile(value)
	}
	var key struct {
		Email string `json:"client_email"`
	}
	if err := json.Unmarshal(content, &key); err == nil && key.Email != "" {
		return key.Email
	}
	return "your Google identity"
}

// NextSteps returns commands to try once the platform is up.
func (p *Platform) NextSteps(context.Context) ([]string, error) {
	return []string{
		p.strataLine("status"),
		"(umask 077 && " + p.pulumiLine(BootstrapLayer, "stack output kubeconfig --show-secrets") + " > " + p.kubeconfig() + ")",
		p.kubectl() + " get gitrepositories,kustomizations,stacks --all-namespaces",
	}, nil
}

// kubeconfig returns the path, quoted for a shell, that messages suggest for the cluster's kubeconfig.
func (p *Platform) kubeconfig() string { return `"$HOME/strata-` + p.Environment + `.kubeconfig"` }

// kubectl returns the first words of calls of kubectl in messages.
func (p *Platform) kubectl() string { return "kubectl --kubeconfig " + p.kubeconfig() }

// strataLine returns a command line of strata for this platform.
func (p *Platform) strataLine(command string) string {
	line := "strata " + command + " --target gke"
	if p.Environment != "dev" {
		line += " --env " + p.Environment
	}
	return line
}
