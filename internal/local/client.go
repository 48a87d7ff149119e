package local

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/components/hop"
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

// teamNamespaces maps the teams' namespaces in the cluster to the teams' names.
func teamNamespaces(ctx context.Context, c client.Client) (map[string]string, error) {
	var list corev1.NamespaceList
	if err := c.List(ctx, &list, client.HasLabels{hop.TeamLabel}); err != nil {
		return nil, fmt.Errorf("list the teams' namespaces: %w", err)
	}
	teams := map[string]string{}
	for _, n := range list.Items {
		teams[n.Name] = n.Labels[hop.TeamLabel]
	}
	return teams, nil
}
