package teardown

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// An API server looks for the kinds of policies' parameters twice a minute. Until it has found them after its start, it
// refuses all that such a policy is about.
const (
	policiesLimit = 45 * time.Second
	unconfigured  = "failed to configure policy"
)

// AwaitPolicies waits until the API server can judge by the admission policies, or is refused for another reason. It
// changes nothing.
func (c *Cluster) AwaitPolicies(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, policiesLimit)
	defer cancel()
	for _, namespace := range c.withFlux() {
		for {
			probe := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
				"metadata": map[string]any{"name": "strata-probe", "namespace": namespace},
				"spec":     map[string]any{"interval": "1m", "prune": false, "sourceRef": map[string]any{"kind": "GitRepository", "name": "none"}},
			}}
			_, err := c.dynamic.Resource(kustomizations).Namespace(namespace).Create(limited, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err == nil || !IsUnconfigured(err.Error()) {
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

// RetryRefused makes Flux apply again at once what such an API server has refused, instead of after its interval.
func (c *Cluster) RetryRefused(ctx context.Context) error {
	return c.eachApplier(ctx, c.withFlux(), func(kind schema.GroupVersionResource, object *unstructured.Unstructured) error {
		if !IsUnconfigured(readyMessage(object)) {
			return nil
		}
		request := fmt.Sprintf(`{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":%q}}}`, time.Now().Format(time.RFC3339Nano))
		_, err := c.dynamic.Resource(kind).Namespace(object.GetNamespace()).Patch(ctx, object.GetName(), types.MergePatchType, []byte(request), metav1.PatchOptions{FieldManager: manager})
		if err == nil || isGone(err) || IsUnconfigured(err.Error()) {
			return nil
		}
		return fmt.Errorf("have %s applied again: %w", describe(object), err)
	})
}

// IsUnconfigured tells the refusal of an API server that cannot judge by a policy yet.
func IsUnconfigured(message string) bool { return strings.Contains(message, unconfigured) }
