package hop

import (
	"slices"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	rbacv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/rbac/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	rbacGroup = "rbac.authorization.k8s.io"
	// reviewerRole is Kubernetes' own ClusterRole for asking who somebody is and what he may do.
	reviewerRole = "system:auth-delegator"
	// googleAccountAnnotation is where GKE looks for the Google account of a Kubernetes account.
	googleAccountAnnotation = "iam.gke.io/gcp-service-account"
)

// rights makes the accounts, and gives them and the operator their rights in the namespace.
func (b *builder) rights() error {
	main, err := b.account("account", "team", Account{Name: b.args.Account, Roles: b.args.Roles})
	if err != nil {
		return err
	}
	b.hop.Account, b.accounts = main, map[string]pulumi.StringOutput{}
	for _, account := range b.args.Accounts {
		if b.accounts[account.Name], err = b.account("account-"+account.Name, "account-"+account.Name, account); err != nil {
			return err
		}
	}
	operator := b.args.Operator
	if _, err := b.bind("operator", operator.Role, operator.Namespace, pulumi.String(operator.Account)); err != nil {
		return err
	}
	if err := b.bareDefaultAccount(); err != nil {
		return err
	}
	return b.reviewers()
}

// account makes an account with its rights, and returns its name, known once it has them.
func (b *builder) account(part, binding string, wanted Account) (pulumi.StringOutput, error) {
	meta := b.metadata(wanted.Name)
	if b.args.GoogleAccount != "" && b.args.Policy != nil && slices.Contains(b.args.Policy.StackAccounts, wanted.Name) {
		meta.Annotations = pulumi.StringMap{googleAccountAnnotation: pulumi.String(b.args.GoogleAccount)}
	}
	account, err := corev1.NewServiceAccount(b.ctx, b.name+"-"+part, &corev1.ServiceAccountArgs{
		Metadata: meta,
		// The account is for Flux and for Stacks; a pod that really needs it has to ask.
		AutomountServiceAccountToken: pulumi.Bool(false),
	}, b.inside()...)
	if err != nil {
		return pulumi.StringOutput{}, err
	}
	b.beforeSync = append(b.beforeSync, account)
	known := []any{account.Metadata.Name().Elem()}
	for i, role := range wanted.Roles {
		name := binding
		if i > 0 {
			name += "-" + lastPart(role)
		}
		bound, err := b.bind(name, role, b.args.Namespace, account.Metadata.Name().Elem())
		if err != nil {
			return pulumi.StringOutput{}, err
		}
		known = append(known, bound.ID())
	}
	return pulumi.All(known...).ApplyT(func(of []any) string { return of[0].(string) }).(pulumi.StringOutput), nil
}

// bind gives a ClusterRole to an account, within the team's namespace only.
func (b *builder) bind(part, role, accountNamespace string, account pulumi.StringInput) (*rbacv1.RoleBinding, error) {
	bound, err := rbacv1.NewRoleBinding(b.ctx, b.name+"-"+part, &rbacv1.RoleBindingArgs{
		Metadata: b.metadata("strata-" + part),
		RoleRef:  clusterRole(role),
		Subjects: rbacv1.SubjectArray{subject(pulumi.String(accountNamespace), account)},
	}, b.inside()...)
	b.beforeSync = append(b.beforeSync, bound)
	return bound, err
}

// bareDefaultAccount keeps the token of the namespace's default account out of pods that do not ask for it. The account
// is made by Kubernetes and others may put things into it, so that one field is ours and no more.
func (b *builder) bareDefaultAccount() error {
	_, err := corev1.NewServiceAccountPatch(b.ctx, b.name+"-default-account", &corev1.ServiceAccountPatchArgs{
		Metadata:                     &metav1.ObjectMetaPatchArgs{Name: pulumi.String("default"), Namespace: b.hop.Namespace},
		AutomountServiceAccountToken: pulumi.Bool(false),
	}, b.inside()...)
	return err
}

// reviewers lets the pods in which upstream's operator runs Stacks check who calls them. Reviews are not within a
// namespace, and neither is the binding; they change nothing and show no content.
func (b *builder) reviewers() error {
	if !b.args.Operator.Workspaces || b.args.Policy == nil || len(b.args.Policy.StackAccounts) == 0 {
		return nil
	}
	var subjects rbacv1.SubjectArray
	for _, account := range b.args.Policy.StackAccounts {
		subjects = append(subjects, subject(b.hop.Namespace, pulumi.String(account)))
	}
	bound, err := rbacv1.NewClusterRoleBinding(b.ctx, b.name+"-reviewers", &rbacv1.ClusterRoleBindingArgs{
		Metadata: &metav1.ObjectMetaArgs{
			Name: pulumi.String("strata:" + b.args.Namespace + ":reviewers"), Labels: labels(),
			// Nothing is owned by a binding, so that there is nothing to wait for when it goes.
			Annotations: pulumi.StringMap{"pulumi.com/deletionPropagationPolicy": pulumi.String("background")},
		},
		RoleRef:  clusterRole(reviewerRole),
		Subjects: subjects,
	}, b.child()...)
	b.beforeSync = append(b.beforeSync, bound)
	return err
}

func clusterRole(name string) *rbacv1.RoleRefArgs {
	return &rbacv1.RoleRefArgs{ApiGroup: pulumi.String(rbacGroup), Kind: pulumi.String("ClusterRole"), Name: pulumi.String(name)}
}

func subject(namespace, account pulumi.StringInput) *rbacv1.SubjectArgs {
	return &rbacv1.SubjectArgs{Kind: pulumi.String("ServiceAccount"), Namespace: namespace, Name: account}
}
