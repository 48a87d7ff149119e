package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Plan describes the steps of down and the data that it would lose.
type Plan struct {
	// Steps are the steps in order. What describes the work of each one; it is empty if unknown.
	Steps []Step
	// Lost lists resources with irreplaceable data, such as databases.
	Lost []string
	// Unknown names the data that could not be read, and how to read it; empty if all was read.
	Unknown string
	// Stays names the data that down keeps; empty for none.
	Stays string
}

// Print prints the plan as text.
func (p Plan) Print(out io.Writer) {
	width := 0
	for _, step := range p.Steps {
		if step.What != "" {
			width = max(width, len(step.Name))
		}
	}
	for n, step := range p.Steps {
		line := fmt.Sprintf("%d. %-*s  %s", n+1, width, step.Name, step.What)
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
	if len(p.Lost) > 0 {
		fmt.Fprintln(out, "\nThis data is lost")
	}
	for _, lost := range p.Lost {
		fmt.Fprintln(out, "   "+lost)
	}
	for _, text := range []string{p.Stays, p.Unknown} {
		if text != "" {
			fmt.Fprintln(out, "\n"+text)
		}
	}
}

// Plan returns what Down would do, based on the existing resources. It changes nothing and starts nothing. Its field
// Unknown lists what Plan could not read.
func (p *Platform) Plan(ctx context.Context, purge bool) Plan {
	var plan Plan
	what := map[string]string{}
	var unknown []string
	note := func(err error) {
		if err != nil {
			unknown = append(unknown, fmt.Sprintf("The plan is incomplete: %v.", err))
		}
	}
	first, err := p.read(ctx, BootstrapLayer)
	note(err)
	what[bootstrapStep] = p.planLayer(BootstrapLayer, first, err)
	if held := protected(first.resources); len(held) > 0 {
		what[checkStep] = fmt.Sprintf("deletionProtection protects %d resources: down stops here, and changes nothing", len(held))
	}
	second, err := p.read(ctx, PlatformLayer)
	note(err)
	what[platformStep] = p.planLayer(PlatformLayer, second, err)
	if err == nil {
		note(p.planCluster(ctx, second, what))
	}
	note(p.Complete(ctx, &plan, first.resources, purge))
	for _, step := range p.downSteps(ctx, purge) {
		if text, is := what[step.Name]; is {
			step.What = text
		}
		plan.Steps = append(plan.Steps, step)
	}
	plan.Unknown = strings.TrimSpace(plan.Unknown + " " + strings.Join(unknown, " "))
	return plan
}

// planLayer describes the destruction of a layer. It returns no text if the layer's state cannot be read, because the layer
// may have resources.
func (p *Platform) planLayer(layer string, read state, err error) string {
	switch {
	case err != nil:
		return ""
	case !p.Made(layer):
		return "has never run"
	}
	return fmt.Sprintf("%d resources", len(read.resources))
}

// planCluster describes the steps that delete objects of layer 2's cluster.
func (p *Platform) planCluster(ctx context.Context, second state, what map[string]string) error {
	if len(second.resources) == 0 {
		what[stacksStep], what[namespacesStep] = "no cluster", "no cluster"
		return nil
	}
	cluster, err := p.teardown(ctx)
	switch {
	case errors.Is(err, errNoCluster):
		what[stacksStep], what[namespacesStep] = "no cluster", "no cluster"
		return nil
	case errors.Is(err, ErrStopped):
		what[stacksStep], what[namespacesStep] = "the Stacks of the stopped cluster, which down starts first", "the namespaces of the teams, the platform and the operator"
		return err
	case err != nil:
		return err
	}
	all, err := cluster.Stacks(ctx)
	if err != nil {
		return err
	}
	var names []string
	for _, stack := range all {
		name := stack.String()
		if stack.Keeps {
			name += " (its resources stay: destroyOnFinalize is not set)"
		}
		names = append(names, name)
	}
	what[stacksStep] = counted("Stack", names)
	namespaces, err := cluster.Namespaces(ctx)
	what[namespacesStep] = counted("namespace", namespaces)
	return err
}

// mostCounted is the maximum number of names in the result of counted.
const mostCounted = 20

// counted returns a number of things with their names, for example "2 Stacks: team-web/a, team-web/b", or "no Stacks". It
// lists only the first names of a long list.
func counted(noun string, names []string) string {
	switch len(names) {
	case 0:
		return "no " + noun + "s"
	case 1:
		return "1 " + noun + ": " + names[0]
	}
	first := strings.Join(names[:min(len(names), mostCounted)], ", ")
	if more := len(names) - mostCounted; more > 0 {
		first += fmt.Sprintf(", … and %d more", more)
	}
	return fmt.Sprintf("%d %ss: %s", len(names), noun, first)
}
