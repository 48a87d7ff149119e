package local

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/components/hop"
	pulumiv1 "github.com/strata-platform/strata/operator/api/v1"
)

// read reads the team's objects in the cluster.
func (s *TeamStatus) read(ctx context.Context, c client.Client) error {
	for _, step := range []func(context.Context, client.Client) error{s.readAccounts, s.readPolicy, s.readQuota, s.readSyncs, s.readStacks} {
		if err := step(ctx, c); err != nil {
			return fmt.Errorf("read the hop of team %s: %w", s.Name, err)
		}
	}
	return nil
}

// readAccounts reads the service accounts of the hop, with the team's own account first.
func (s *TeamStatus) readAccounts(ctx context.Context, c client.Client) error {
	var accounts corev1.ServiceAccountList
	if err := c.List(ctx, &accounts, client.InNamespace(s.Namespace), client.HasLabels{hop.Label}); err != nil {
		return err
	}
	others := []string{}
	for _, account := range accounts.Items {
		if account.Name != s.Name {
			others = append(others, account.Name)
		}
	}
	if len(accounts.Items) > len(others) {
		others = append([]string{s.Name}, others...)
	}
	s.Accounts = others
	return nil
}

// readPolicy reads the resource types that the team's Programs may declare.
func (s *TeamStatus) readPolicy(ctx context.Context, c client.Client) error {
	policies, err := listOf(ctx, c, s.Namespace, hop.PolicyGroup, hop.PolicyVersion, hop.PolicyKind)
	for _, policy := range policies {
		if policy.GetName() == hop.PolicyName {
			s.Allow, _, err = unstructured.NestedStringSlice(policy.Object, "spec", "types")
		}
	}
	return err
}

// readQuota reads the limits of the namespace and their use.
func (s *TeamStatus) readQuota(ctx context.Context, c client.Client) error {
	var quotas corev1.ResourceQuotaList
	if err := c.List(ctx, &quotas, client.InNamespace(s.Namespace)); err != nil {
		return err
	}
	s.Quota = []TeamQuota{}
	for _, quota := range quotas.Items {
		for _, name := range slices.Sorted(maps.Keys(quota.Spec.Hard)) {
			hard, used := quota.Spec.Hard[name], quota.Status.Used[name]
			s.Quota = append(s.Quota, TeamQuota{Resource: string(name), Used: used.String(), Hard: hard.String()})
		}
	}
	return nil
}

// readSyncs reads the team's repository and the syncs that apply it.
func (s *TeamStatus) readSyncs(ctx context.Context, c client.Client) error {
	sources, err := listOf(ctx, c, s.Namespace, "source.toolkit.fluxcd.io", "v1", "GitRepository")
	if err != nil {
		return err
	}
	for _, source := range sources {
		if source.GetName() == s.Name {
			s.Repository, _, _ = unstructured.NestedString(source.Object, "spec", "url")
		}
	}
	syncs, err := listOf(ctx, c, s.Namespace, "kustomize.toolkit.fluxcd.io", "v1", "Kustomization")
	if err != nil {
		return err
	}
	for _, object := range syncs {
		sync := TeamSync{Name: object.GetName()}
		sync.Ready, sync.Reason, sync.Message = readiness(object)
		sync.Revision, _, _ = unstructured.NestedString(object.Object, "status", "lastAppliedRevision")
		s.Syncs = append(s.Syncs, sync)
	}
	return nil
}

// readStacks reads the team's Stacks. Without the operator, the cluster has no kind Stack.
func (s *TeamStatus) readStacks(ctx context.Context, c client.Client) error {
	var list pulumiv1.StackList
	if err := c.List(ctx, &list, client.InNamespace(s.Namespace)); err != nil && !meta.IsNoMatchError(err) {
		return err
	}
	for _, object := range list.Items {
		stack := TeamStack{Name: object.Name, Account: object.ServiceAccount(), Reason: "Pending", Message: "the operator has not reported on it yet"}
		if ready := meta.FindStatusCondition(object.Status.Conditions, pulumiv1.ReadyCondition); ready != nil && ready.ObservedGeneration >= object.Generation {
			// An older condition is about an earlier spec.
			stack.Ready, stack.Reason, stack.Message = ready.Status == "True", ready.Reason, ready.Message
		}
		if object.DeletionTimestamp != nil {
			stack.Ready, stack.Reason, stack.Message = false, "Deleting", "being destroyed"
		}
		s.Stacks = append(s.Stacks, stack)
	}
	return nil
}

// listOf lists the objects of a kind. If the cluster does not have the kind, it returns none.
func listOf(ctx context.Context, c client.Client, namespace, group, version, kind string) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind + "List"})
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil && !meta.IsNoMatchError(err) {
		return nil, err
	}
	return list.Items, nil
}

// readiness returns the Ready condition of an object.
func readiness(object unstructured.Unstructured) (ready bool, reason, message string) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, each := range conditions {
		if condition, ok := each.(map[string]any); ok && condition["type"] == "Ready" {
			return condition["status"] == "True", fmt.Sprint(condition["reason"]), fmt.Sprint(condition["message"])
		}
	}
	return false, "Pending", "Flux has not reported on it yet"
}
