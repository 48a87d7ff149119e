package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/terminal"
	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"
)

// clusterClient returns a client for Stacks and Kubernetes' own objects, with the administrator's credentials.
func (p *Platform) clusterClient() (client.Client, error) {
	config, err := p.AdminConfig()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(pulumiv1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return c, nil
}

// stacks returns all Stacks, or none if the cluster does not have the kind.
func stacks(ctx context.Context, c client.Client) ([]pulumiv1.Stack, error) {
	var list pulumiv1.StackList
	err := c.List(ctx, &list)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the Stacks: %w", err)
	}
	return list.Items, nil
}

// mostStackLines bounds the number of Stacks that stackLines describes, divided among the teams. Each team gets at
// least one.
const mostStackLines = 20

// stackLines describes the first Stacks of each team by their outputs that are not secret, and counts the other
// Stacks.
func (p *Platform) stackLines(ctx context.Context) ([]string, error) {
	c, err := p.clusterClient()
	if err != nil {
		return nil, err
	}
	list, err := p.Teams()
	if err != nil {
		return nil, err
	}
	most := max(1, mostStackLines/max(1, len(list)))
	var lines []string
	for _, team := range list {
		var first pulumiv1.StackList
		err := c.List(ctx, &first, client.InNamespace(team.Namespace()), client.Limit(int64(most)))
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("list the Stacks of team %s: %w", team.Name, err)
		}
		for _, s := range first.Items {
			line := fmt.Sprintf("4 %-10s as its service account %s: Stack %s%s", team.Name, s.ServiceAccount(), s.Name, outputs(s))
			lines = append(lines, terminal.Middle(terminal.Escape(line), longestStackLine))
		}
		if more := first.GetRemainingItemCount(); more != nil {
			lines = append(lines, fmt.Sprintf("4 %-10s … and %d more Stacks (%s)", team.Name, *more, p.Home.Call("status -o json")))
		}
	}
	return lines, nil
}

// mostOutputs is the maximum number of outputs in a Stack's line. longestStackLine is the maximum length of the line
// in characters.
const (
	mostOutputs      = 10
	longestStackLine = 300
)

func outputs(s pulumiv1.Stack) string {
	all := map[string]any{}
	for name, output := range s.Status.Outputs {
		var value any
		if err := json.Unmarshal(output.Raw, &value); err == nil {
			all[name] = value
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " (" + status.OutputsLine(all, mostOutputs) + ")"
}
