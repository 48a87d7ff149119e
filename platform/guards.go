package platform

import (
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	rbacv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/rbac/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/platform/hopguard"
	"github.com/strata-platform/strata/platform/operators"
)

// HopGuard is the name of the policy that protects the objects of hops, and of its binding.
const HopGuard = hopguard.Name

// guardOperator isolates the operator from other pods, and grants it the permissions that it needs in its own namespace.
func (r *rights) guardOperator(ctx *pulumi.Context, bootstrap *handoff.Bootstrap, opts ...pulumi.ResourceOption) error {
	rules, choice := OperatorRole(), r.config.choice()
	if choice.Upstream() {
		rules = upstreamOperatorRole()
	} else if choice.Pod() {
		rules = append(rules, operators.LeaderRules(OperatorAccount)...)
	}
	operator := rbacv1.SubjectArray{&rbacv1.SubjectArgs{
		Kind: pulumi.String("ServiceAccount"), Namespace: pulumi.String(OperatorNamespace), Name: pulumi.String(OperatorAccount),
	}}
	if err := r.grant(ctx, "operator", OperatorNamespace, RoleOperator, rules, operator, opts); err != nil {
		return err
	}
	made, err := choice.Guard(ctx, OperatorNamespace, bootstrap, r.config.PrivateRanges, r.metadata, r.inside(OperatorNamespace, opts), opts)
	r.all = append(r.all, made...)
	return err
}

// inFlux returns the metadata of an object in Flux's namespace.
func inFlux(name string) *metav1.ObjectMetaArgs {
	made := clusterMetadata(name)
	made.Namespace = pulumi.String(fluxcd.Namespace)
	return made
}
