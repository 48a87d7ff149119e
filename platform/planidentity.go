package platform

import (
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/handoff"
)

// makePlanIdentity tells the operator the Google account with which it answers the look-ups of plans. The operator's own account may act
// as it; the runs of plans never do. Upstream's operator has no plans.
func (r *rights) makePlanIdentity(ctx *pulumi.Context, bootstrap *handoff.Bootstrap, opts ...pulumi.ResourceOption) error {
	if r.config.upstreamOperator() || bootstrap.Plans == "" || bootstrap.Audience == "" {
		return nil
	}
	made, err := corev1.NewSecret(ctx, "plan-identity", &corev1.SecretArgs{
		Metadata: r.metadata(OperatorNamespace, handoff.PlanName),
		StringData: pulumi.StringMap{
			handoff.KeyGoogleAccount:  pulumi.String(bootstrap.Plans),
			handoff.KeyGoogleAudience: pulumi.String(bootstrap.Audience),
			handoff.KeyGoogleProject:  pulumi.String(bootstrap.Project),
			// An earlier strata wrote a key here. The API server keeps what a later stringData leaves out.
			handoff.KeyGoogleCredentials: pulumi.String(""),
		},
	}, r.inside(OperatorNamespace, opts)...)
	r.all = append(r.all, made)
	return err
}
