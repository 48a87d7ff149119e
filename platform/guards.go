package platform

import (
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	rbacv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/rbac/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/platform/hopguard"
	"github.com/strata-platform/strata/platform/network"
)

// HopGuard is the name of the policy that protects the objects of hops, and of its binding.
const HopGuard = hopguard.Name

// guardOperator isolates the operator from other pods, and grants it the permissions that it needs in its own namespace.
func (r *rights) guardOperator(ctx *pulumi.Context, opts []pulumi.ResourceOption) error {
	rules := OperatorRole()
	if r.upstream {
		rules = upstreamOperatorRole()
	}
	operator := rbacv1.SubjectArray{&rbacv1.SubjectArgs{
		Kind: pulumi.String("ServiceAccount"), Namespace: pulumi.String(OperatorNamespace), Name: pulumi.String(OperatorAccount),
	}}
	if err := r.grant(ctx, "operator", OperatorNamespace, RoleOperator, rules, operator, opts); err != nil {
		return err
	}
	policy, err := network.Operator(ctx, r.metadata(OperatorNamespace, "strata"), r.upstream, r.inside(OperatorNamespace, opts)...)
	r.all = append(r.all, policy)
	return err
}

// guardFlux patches Flux's namespace, which the Flux provider creates: no pod in it may reach its node, and the pods that
// run Stacks may fetch sources from it. With notifies, the operator may send events to it.
func guardFlux(ctx *pulumi.Context, upstream, notifies bool, opts ...pulumi.ResourceOption) error {
	_, err := corev1.NewNamespacePatch(ctx, "flux-pod-security", &corev1.NamespacePatchArgs{
		Metadata: &metav1.ObjectMetaPatchArgs{
			Name:   pulumi.String(fluxcd.Namespace),
			Labels: pulumi.StringMap{"pod-security.kubernetes.io/enforce": pulumi.String("restricted")},
		},
	}, opts...)
	if err != nil {
		return err
	}
	return network.Flux(ctx, inFlux, OperatorNamespace, upstream, notifies, opts...)
}

// inFlux returns the metadata of an object in Flux's namespace.
func inFlux(name string) *metav1.ObjectMetaArgs {
	made := clusterMetadata(name)
	made.Namespace = pulumi.String(fluxcd.Namespace)
	return made
}
