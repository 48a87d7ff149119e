package hop

import (
	"maps"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// DefaultQuota returns the limits of a namespace, without the pods of Policy.Workspace. HopArgs.Quota overrides them.
func DefaultQuota() map[string]string {
	return map[string]string{
		"requests.cpu":           "4",
		"requests.memory":        "8Gi",
		"limits.memory":          "16Gi",
		"pods":                   "50",
		"persistentvolumeclaims": "20",
		"requests.storage":       "100Gi",
		// Only the platform may give out ports of the nodes and addresses outside the cluster.
		"services.nodeports":     "0",
		"services.loadbalancers": "0",
	}
}

// limits creates the ResourceQuota and the LimitRange of the namespace.
func (b *builder) limits() error {
	hard := pulumi.ToStringMap(DefaultQuota())
	if policy := b.args.Policy; policy != nil && policy.Workspace != nil {
		hard = pulumi.ToStringMap(policy.Workspace.quota())
	}
	maps.Copy(hard, b.args.Quota)
	quota, err := corev1.NewResourceQuota(b.ctx, b.name+"-quota", &corev1.ResourceQuotaArgs{
		Metadata: b.metadata("strata"),
		Spec:     &corev1.ResourceQuotaSpecArgs{Hard: hard},
	}, b.inside()...)
	if err != nil {
		return err
	}
	// The quota counts the pods' requests, so that a pod without requests needs a default. A limit of 0 means no limit, and the
	// quota counts it as 0, so that there is a minimum.
	limits, err := corev1.NewLimitRange(b.ctx, b.name+"-limits", &corev1.LimitRangeArgs{
		Metadata: b.metadata("strata"),
		Spec: &corev1.LimitRangeSpecArgs{Limits: corev1.LimitRangeItemArray{&corev1.LimitRangeItemArgs{
			Type:           pulumi.String("Container"),
			DefaultRequest: pulumi.StringMap{"cpu": pulumi.String("100m"), "memory": pulumi.String("128Mi")},
			Default:        pulumi.StringMap{"memory": pulumi.String("512Mi")},
			Min:            pulumi.StringMap{"memory": pulumi.String("1Mi")},
		}}},
	}, b.inside()...)
	b.beforeSync = append(b.beforeSync, quota, limits)
	return err
}
