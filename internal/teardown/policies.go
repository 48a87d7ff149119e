package teardown

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// An API server discovers the kinds of policies' parameters twice a minute. From its start until the discovery, it
// rejects every request that such a policy matches. The policies match in the teams' namespaces only. Flux retries its
// requests.
const (
	policiesLimit = 45 * time.Second
	unconfigured  = "failed to configure policy"
)

// AwaitPolicies waits until the API server can evaluate the admission policies. It returns early if the API server
// rejects its request for another reason. It changes nothing.
func (c *Cluster) AwaitPolicies(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, policiesLimit)
	defer cancel()
	for _, namespace := range c.namespaces.Teams {
		for {
			probe := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
				"metadata": map[string]any{"name": "strata-probe", "namespace": namespace},
				"spec":     map[string]any{"interval": "1m", "prune": false, "sourceRef": map[string]any{"kind": "GitRepository", "name": "none"}},
			}}
			_, err := c.dynamic.Resource(kustomizations).Namespace(namespace).Create(limited, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err == nil || !isUnconfigured(err.Error()) {
				break
			}
			select {
			case <-limited.Done():
				return err
			case <-time.After(c.poll):
			}
		}
	}
	return ctx.Err()
}

// isUnconfigured reports whether a message comes from an API server that cannot evaluate a policy yet.
func isUnconfigured(message string) bool { return strings.Contains(message, unconfigured) }
