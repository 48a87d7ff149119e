package hop

import (
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	networkingv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/networking/v1"
	rbacv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/rbac/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const rbacGroup = "rbac.authorization.k8s.io"

// account makes the team's account, and gives it and the operator their rights in the namespace.
func (b *builder) account() error {
	account, err := corev1.NewServiceAccount(b.ctx, b.name+"-account", &corev1.ServiceAccountArgs{
		Metadata: b.metadata(b.args.Account),
		// The account is for Flux and for Stacks; a pod that really needs it has to ask.
		AutomountServiceAccountToken: pulumi.Bool(false),
	}, b.inside()...)
	if err != nil {
		return err
	}
	team, err := b.bind("team", b.args.TeamRole, b.args.Namespace, account.Metadata.Name().Elem())
	if err != nil {
		return err
	}
	operator := b.args.Operator
	run, err := b.bind("operator", operator.Role, operator.Namespace, pulumi.String(operator.Account))
	if err != nil {
		return err
	}
	b.hop.Account = pulumi.All(account.Metadata.Name().Elem(), team.ID()).ApplyT(func(parts []any) string {
		return parts[0].(string)
	}).(pulumi.StringOutput)
	b.beforeSync = append(b.beforeSync, account, team, run)
	return nil
}

// bind gives a ClusterRole to an account, within the team's namespace only.
func (b *builder) bind(part, role, accountNamespace string, account pulumi.StringInput) (*rbacv1.RoleBinding, error) {
	return rbacv1.NewRoleBinding(b.ctx, b.name+"-"+part, &rbacv1.RoleBindingArgs{
		Metadata: b.metadata("strata-" + part),
		RoleRef: &rbacv1.RoleRefArgs{
			ApiGroup: pulumi.String(rbacGroup), Kind: pulumi.String("ClusterRole"), Name: pulumi.String(role),
		},
		Subjects: rbacv1.SubjectArray{&rbacv1.SubjectArgs{
			Kind: pulumi.String("ServiceAccount"), Namespace: pulumi.String(accountNamespace), Name: account,
		}},
	}, b.inside()...)
}

// limits bounds what the team's pods use, and who talks to them.
func (b *builder) limits() error {
	quota, err := corev1.NewResourceQuota(b.ctx, b.name+"-quota", &corev1.ResourceQuotaArgs{
		Metadata: b.metadata("strata"),
		Spec: &corev1.ResourceQuotaSpecArgs{Hard: pulumi.StringMap{
			"requests.cpu":           pulumi.String("4"),
			"requests.memory":        pulumi.String("8Gi"),
			"limits.memory":          pulumi.String("16Gi"),
			"services.nodeports":     pulumi.String("0"),
			"services.loadbalancers": pulumi.String("0"),
		}},
	}, b.inside()...)
	if err != nil {
		return err
	}
	// The quota counts what pods ask for, so that a pod that says nothing needs a default.
	limits, err := corev1.NewLimitRange(b.ctx, b.name+"-limits", &corev1.LimitRangeArgs{
		Metadata: b.metadata("strata"),
		Spec: &corev1.LimitRangeSpecArgs{Limits: corev1.LimitRangeItemArray{&corev1.LimitRangeItemArgs{
			Type:           pulumi.String("Container"),
			DefaultRequest: pulumi.StringMap{"cpu": pulumi.String("100m"), "memory": pulumi.String("128Mi")},
			Default:        pulumi.StringMap{"memory": pulumi.String("512Mi")},
		}}},
	}, b.inside()...)
	if err != nil {
		return err
	}
	// What comes in comes from the team's own pods, unless a policy of the platform says more.
	policy, err := networkingv1.NewNetworkPolicy(b.ctx, b.name+"-network", &networkingv1.NetworkPolicyArgs{
		Metadata: b.metadata("strata-own-pods-only"),
		Spec: &networkingv1.NetworkPolicySpecArgs{
			PodSelector: &metav1.LabelSelectorArgs{},
			PolicyTypes: pulumi.StringArray{pulumi.String("Ingress")},
			Ingress: networkingv1.NetworkPolicyIngressRuleArray{&networkingv1.NetworkPolicyIngressRuleArgs{
				From: networkingv1.NetworkPolicyPeerArray{&networkingv1.NetworkPolicyPeerArgs{
					PodSelector: &metav1.LabelSelectorArgs{},
				}},
			}},
		},
	}, b.inside()...)
	b.beforeSync = append(b.beforeSync, quota, limits, policy)
	return err
}
