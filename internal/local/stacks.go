package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"
)

// clusterClient reads and writes Stacks and Kubernetes' own objects as the cluster's administrator.
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

// stacks lists all Stacks; none where the cluster does not know the kind.
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

// stackLines says what each Stack made, by its outputs that are no secret.
func (p *Platform) stackLines(ctx context.Context) ([]string, error) {
	c, err := p.clusterClient()
	if err != nil {
		return nil, err
	}
	all, err := stacks(ctx, c)
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, s := range all {
		lines = append(lines, fmt.Sprintf("4 %-10s as its service account %s: Stack %s%s", strings.TrimPrefix(s.Namespace, "team-"), s.ServiceAccount(), s.Name, outputs(s)))
	}
	return lines, nil
}

func outputs(s pulumiv1.Stack) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s.Status.Outputs)) {
		var text any
		if err := json.Unmarshal(s.Status.Outputs[name].Raw, &text); err == nil {
			parts = append(parts, fmt.Sprintf("%s=%v", name, text))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
