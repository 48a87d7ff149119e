package operators

import (
	"fmt"
	"maps"
	"slices"

	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	rbac "k8s.io/api/rbac/v1"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/platform/network"
	"github.com/strata-platform/strata/platform/podguard"
)

// Level returns the pod security level of the operator's namespace. "restricted" keeps pods from reaching their node, whoever creates
// a Deployment there. The pod of the embedded operator cannot isolate runs under it, so package podguard holds that namespace to
// everything else.
func (c Choice) Level() string {
	if c.Pod() {
		return "privileged"
	}
	return "restricted"
}

// PlatformRules returns the rules that the platform account needs in the operator's namespace in addition, to apply the pod.
func PlatformRules() []rbac.PolicyRule {
	return []rbac.PolicyRule{{
		APIGroups: []string{"policy"}, Resources: []string{"poddisruptionbudgets"},
		Verbs: []string{"get", "list", "watch", "create", "patch", "update", "delete"},
	}}
}

// AfterUpstream returns the rules by which Flux deletes, as the platform account, the source of upstream's operator after that was the
// operator.
func AfterUpstream(source string) []rbac.PolicyRule {
	return []rbac.PolicyRule{removable("source.toolkit.fluxcd.io", "gitrepositories", source)}
}

// AfterPod returns the rules by which Flux deletes, as the platform account, what PlatformRules let it apply, after the embedded operator
// ran in a pod. account is the operator's.
func AfterPod(account string) []rbac.PolicyRule {
	return []rbac.PolicyRule{removable("policy", "poddisruptionbudgets", account)}
}

func removable(group, resource, name string) rbac.PolicyRule {
	return rbac.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, ResourceNames: []string{name}, Verbs: []string{"get", "delete"}}
}

// LeaderRules returns the rules that the operator needs in its namespace in addition, in a pod: its replicas elect a leader by the
// Lease with the name of its account.
func LeaderRules(account string) []rbac.PolicyRule {
	leases := rbac.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}}
	own := leases
	own.ResourceNames, own.Verbs = []string{account}, []string{"get", "update"}
	return []rbac.PolicyRule{leases, own}
}

// Guard isolates the operator's namespace from other pods, and enforces on its pods what Level does not. metadata returns the
// metadata of an object in a namespace, or of a cluster-scoped one without a namespace. inside are the options of objects in the
// operator's namespace.
func (c Choice) Guard(
	ctx *pulumi.Context, namespace string, bootstrap *handoff.Bootstrap, ranges []string, metadata func(namespace, name string) *metav1.ObjectMetaArgs,
	inside, opts []pulumi.ResourceOption,
) ([]pulumi.Resource, error) {
	settings := network.Settings{Upstream: c.Upstream(), Pod: c.Pod(), ControlPlane: bootstrap.Addresses, PrivateRanges: ranges}
	policy, err := network.Operator(ctx, metadata(namespace, "strata"), settings, inside...)
	if err != nil || !c.Pod() {
		return []pulumi.Resource{policy}, err
	}
	guard, err := podguard.New(ctx, metadata("", podguard.Name), namespace, opts...)
	return []pulumi.Resource{policy, guard}, err
}

// CheckIdentities refuses a team whose Google identity the embedded operator cannot give to a run, because an earlier strata has run
// layer 1. No metadata server answers the operator's runs.
func (c Choice) CheckIdentities(bootstrap *handoff.Bootstrap) error {
	if c.Upstream() || bootstrap.Audience != "" {
		return nil
	}
	for _, team := range slices.Sorted(maps.Keys(bootstrap.Tenants)) {
		if bootstrap.Tenants[team].Credentials == "" {
			return fmt.Errorf("the Stacks of team %s have no identity in Google Cloud: layer 1 has handed over no audience for tokens of the cluster: "+
				"run layer 1 with this version of strata", team)
		}
	}
	return nil
}
