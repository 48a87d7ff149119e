package hop

import (
	"slices"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	rbacv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/rbac/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/component"
	"github.com/strata-platform/strata/components/internal/inputs"
)

const (
	rbacGroup = "rbac.authorization.k8s.io"
	// reviewerRole is Kubernetes' own ClusterRole for creating TokenReviews and SubjectAccessReviews.
	reviewerRole = "system:auth-delegator"
	// googleAccountAnnotation is the annotation in which GKE looks up the Google account of a Kubernetes account.
	googleAccountAnnotation = "iam.gke.io/gcp-service-account"
)

// rights creates the accounts and the role bindings of the accounts and the operator in the namespace.
func (b *builder) rights() error {
	main, err := b.account("account", PartTeam, Account{Name: b.args.Account, Roles: b.args.Roles})
	if err != nil {
		return err
	}
	b.hop.Account, b.accounts = main, map[string]pulumi.StringOutput{}
	for _, account := range b.args.Accounts {
		if b.accounts[account.Name], err = b.account("account-"+account.Name, PartAccount+account.Name, account); err != nil {
			return err
		}
	}
	if b.args.PlanRole != "" {
		if _, err := b.account("plan-account", PartPlan, Account{Name: PlanAccount, Roles: []string{b.args.PlanRole}}); err != nil {
			return err
		}
	}
	if err := b.approvers(); err != nil {
		return err
	}
	operator := b.args.Operator
	if _, err := b.bind(PartOperator, operator.Role, subject(operator.Namespace, operator.Account)); err != nil {
		return err
	}
	if err := b.patchDefaultAccount(); err != nil {
		return err
	}
	return b.reviewers()
}

// account creates an account with its role bindings. It returns the account's name, known once the bindings exist.
func (b *builder) account(part, binding string, wanted Account) (pulumi.StringOutput, error) {
	meta := b.metadata(wanted.Name)
	runsStacks := b.args.Policy != nil && slices.Contains(b.args.Policy.StackAccounts, wanted.Name)
	if !inputs.Missing(b.args.GoogleAccount) && runsStacks {
		meta.Annotations = pulumi.StringMap{googleAccountAnnotation: b.args.GoogleAccount}
	}
	account, err := corev1.NewServiceAccount(b.ctx, b.name+"-"+part, &corev1.ServiceAccountArgs{
		Metadata: meta,
		// Flux and the embedded operator use this account without a mounted token. A pod that needs the token must request
		// it. Upstream's operator does not request it for the pods of Stacks, whose agent ends without a token.
		AutomountServiceAccountToken: pulumi.Bool(b.args.Operator.Workspaces && runsStacks),
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
		bound, err := b.bind(name, role, subject(pulumi.String(b.args.Namespace), account.Metadata.Name().Elem()))
		if err != nil {
			return pulumi.StringOutput{}, err
		}
		known = append(known, bound.ID())
	}
	return pulumi.All(known...).ApplyT(func(of []any) string { return of[0].(string) }).(pulumi.StringOutput), nil
}

// approvers binds the role of those who may approve.
func (b *builder) approvers() error {
	given := b.args.Approvers
	var subjects rbacv1.SubjectArray
	named := func(kind string, names []string) {
		for _, name := range names {
			subjects = append(subjects, rbacv1.SubjectArgs{Kind: pulumi.String(kind), ApiGroup: pulumi.String(rbacGroup), Name: pulumi.String(name)})
		}
	}
	named("User", given.Users)
	named("Group", given.Groups)
	if given.Accounts {
		for _, name := range b.args.accountNames() {
			subjects = append(subjects, subject(b.hop.Namespace, pulumi.String(name)))
		}
	}
	if len(subjects) == 0 {
		return nil
	}
	_, err := b.bind(PartApprovers, given.Role, subjects...)
	return err
}

// Parts of a hop whose RoleBindings have names of their own: see BindingName.
const (
	// PartTeam binds the first role of the team's account, PartOperator the operator's role, PartPlan that of PlanAccount, and
	// PartApprovers that of Approvers.
	PartTeam      = "team"
	PartOperator  = "operator"
	PartPlan      = "plan"
	PartApprovers = "approvers"
	// PartAccount, followed by an additional account's name, binds the first role of that account.
	PartAccount = "account-"
)

// BindingName returns the name of the hop's RoleBinding for a part: PartTeam, PartOperator, PartPlan, PartApprovers, or PartAccount with the name of
// an account.
func BindingName(part string) string { return "strata-" + part }

// bind grants a ClusterRole to accounts, users or groups, within the team's namespace only.
func (b *builder) bind(part, role string, subjects ...rbacv1.SubjectInput) (*rbacv1.RoleBinding, error) {
	bound, err := rbacv1.NewRoleBinding(b.ctx, b.name+"-"+part, &rbacv1.RoleBindingArgs{
		Metadata: b.metadata(BindingName(part)),
		RoleRef:  clusterRole(role),
		Subjects: rbacv1.SubjectArray(subjects),
	}, b.inside()...)
	b.beforeSync = append(b.beforeSync, bound)
	return bound, err
}

// patchDefaultAccount stops Kubernetes from mounting the token of the namespace's default account into pods that do not
// ask for it. Kubernetes creates that account and other clients may add fields, so the hop manages this one field only.
func (b *builder) patchDefaultAccount() error {
	_, err := corev1.NewServiceAccountPatch(b.ctx, b.name+"-default-account", &corev1.ServiceAccountPatchArgs{
		Metadata:                     &metav1.ObjectMetaPatchArgs{Name: pulumi.String("default"), Namespace: b.hop.Namespace},
		AutomountServiceAccountToken: pulumi.Bool(false),
	}, b.inside()...)
	return err
}

// reviewers lets the pods in which upstream's operator runs Stacks authenticate and authorize their callers. TokenReviews
// and SubjectAccessReviews are cluster-scoped, so the binding is too. They change nothing and reveal no content.
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
			Name: pulumi.String("strata:" + b.args.Namespace + ":reviewers"), Labels: component.Labels(),
			// A binding owns no objects, so a deletion has no dependents to wait for.
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
