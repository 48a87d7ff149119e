package lifecycle

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/teardown"
	"github.com/strata-platform/strata/internal/terminal"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/teams"
)

// Describe lists the resources of each layer, with the identities that created them.
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
	tenants, err := p.Tenants()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, team := range list {
		names = append(names, team.Name)
	}
	instance, err := p.Instance(ctx, text(first, handoff.OutputInstance))
	if err != nil {
		return nil, err
	}
	about := p.About()
	identities := "a Google identity for each team (" + strings.Join(names, ", ") + ")"
	if len(names) == 0 {
		identities = "no team yet: `" + about.Call("team add NAME") + "` adds one"
	}
	lines := []string{
		fmt.Sprintf("1 bootstrap  as %s: cluster %s, Cloud SQL instance %s, %s",
			about.Engineer, path.Base(text(first, handoff.OutputCluster)), instance, identities),
		fmt.Sprintf("2 platform   as the cluster's administrator, without any cloud rights: Flux %s, the account platform, a hop for each team",
			text(second, platform.OutputFluxVersion)),
		"3 sync       as the account platform: " + about.Operator,
	}
	cluster, err := p.teardown(ctx)
	if err != nil {
		return nil, err
	}
	stacks, err := cluster.Stacks(ctx)
	if err != nil {
		return nil, err
	}
	return append(lines, p.stackLines(tenants, stacks)...), nil
}

const (
	// mostStackLines is the number of described Stacks. The teams share it evenly, and each team gets at least one line.
	mostStackLines = 20
	// mostOutputs is the number of outputs in the line of a Stack.
	mostOutputs = 10
	// longestStackLine is the length of a line in characters.
	longestStackLine = 300
)

// stackLines describes the first Stacks of each team by their outputs that are not secret, and counts the other Stacks.
func (p *Platform) stackLines(list []teams.Team, stacks []teardown.Stack) []string {
	most := max(1, mostStackLines/max(1, len(list)))
	var lines []string
	for _, team := range list {
		count := 0
		for _, stack := range stacks {
			if stack.Namespace != team.Namespace() {
				continue
			}
			if count++; count > most {
				continue
			}
			// A team chooses the names and the outputs, so they must not control the terminal or fill the screen.
			line := fmt.Sprintf("4 %-10s as its service account %s: Stack %s%s", team.Name, stack.Account, stack.Name, outputs(stack))
			lines = append(lines, terminal.Middle(terminal.Escape(line), longestStackLine))
		}
		if more := count - most; more > 0 {
			lines = append(lines, fmt.Sprintf("4 %-10s … and %d more Stacks (%s)", team.Name, more, p.About().Call("status -o json")))
		}
	}
	return lines
}

func outputs(s teardown.Stack) string {
	all := map[string]any{}
	for name, raw := range s.Outputs {
		var value any
		if err := json.Unmarshal(raw, &value); err == nil {
			all[name] = value
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + status.OutputsLine(all, mostOutputs) + ")"
}
