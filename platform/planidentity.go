package platform

import (
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/handoff"
)

// makePlanIdentity gives the operator the Google account with which it answers the look-ups of plans. The runs of plans never get
// it. Upstream's operator has no plans, and reads every Secret, so it gets none.
func (r *rights) makePlanIdentity(ctx *pulumi.Context, bootstrap *handoff.Bootstrap, opts ...pulumi.ResourceOption) error {
	if r.config.upstreamOperator() || bootstrap.Plans == "" {
		return nil
	}
	made, err := corev1.NewSecret(ctx, "plan-identity", &corev1.SecretArgs{
		Metadata: r.metadata(OperatorNamespace, handoff.PlanName),
		StringData: pulumi.ToSecret(pulumi.StringMap{
			handoff.KeyGoogleCredentials: bootstrap.Plans.Input(),
			handoff.KeyGoogleProject:     pulumi.String(bootstrap.Project),
		}.ToStringMapOutput()).(pulumi.StringMapOutput),
	}, r.inside(OperatorNamespace, opts)...)
	r.all = append(r.all, made)
	return err
}
