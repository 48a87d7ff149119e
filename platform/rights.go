package platform

import (
	"maps"
	"slices"
	"strings"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	rbacv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/rbac/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	rbac "k8s.io/api/rbac/v1"

	"github.com/strata-platform/strata/platform/operators"
)

// rights holds the objects that decide what the platform account and the operator may do. These objects must outlive
// everything that the two apply and run.
type rights struct {
	// config decides which operator runs Stacks, and where.
	config Config
	// catalogue holds the rules that the catalogue adds to the ClusterRoles.
	catalogue    map[string][]rbac.PolicyRule
	all          []pulumi.Resource
	namespaces   map[string]*corev1.Namespace
	clusterRoles map[string]*rbacv1.ClusterRole
}

// newRights creates the ClusterRoles, the platform's own namespaces and the platform account.
func newRights(ctx *pulumi.Context, config Config, catalogue map[string][]rbac.PolicyRule, opts ...pulumi.ResourceOption) (*rights, error) {
	made := &rights{config: config, catalogue: catalogue, namespaces: map[string]*corev1.Namespace{}, clusterRoles: map[string]*rbacv1.ClusterRole{}}
	for _, step := range []func(*pulumi.Context, []pulumi.ResourceOption) error{
		made.makeNamespaces, made.makeClusterRoles, made.makeAccount,
	} {
		if err := step(ctx, opts); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (r *rights) makeNamespaces(ctx *pulumi.Context, opts []pulumi.ResourceOption) error {
	for _, name := range []string{PlatformNamespace, OperatorNamespace} {
		marks := labels()
		marks["pod-security.kubernetes.io/enforce"] = pulumi.String("restricted")
		if name == OperatorNamespace {
			marks["pod-security.kubernetes.io/enforce"] = pulumi.String(r.config.choice().Level())
		}
		namespace, err := corev1.NewNamespace(ctx, "namespace-"+name, &corev1.NamespaceArgs{
			Metadata: &metav1.ObjectMetaArgs{Name: pulumi.String(name), Labels: marks},
		}, opts...)
		if err != nil {
			return err
		}
		r.namespaces[name] = namespace
		r.all = append(r.all, namespace)
	}
	return nil
}

func (r *rights) makeClusterRoles(ctx *pulumi.Context, opts []pulumi.ResourceOption) error {
	roles := ClusterRoles()
	if r.config.upstreamOperator() {
		roles = upstreamClusterRoles()
	}
	roles = merge(roles, r.catalogue)
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		role, err := rbacv1.NewClusterRole(ctx, "role-"+strings.TrimPrefix(name, "strata:"), &rbacv1.ClusterRoleArgs{
			Metadata: clusterMetadata(name),
			Rules:    policyRules(roles[name]),
		}, opts...)
		if err != nil {
			return err
		}
		r.clusterRoles[name] = role
		r.all = append(r.all, role)
	}
	return nil
}

// makeAccount creates the account that Flux applies sync/ under, with its role bindings.
func (r *rights) makeAccount(ctx *pulumi.Context, opts []pulumi.ResourceOption) error {
	account, err := corev1.NewServiceAccount(ctx, "platform-account", &corev1.ServiceAccountArgs{
		Metadata:                     r.metadata(PlatformNamespace, PlatformAccount),
		AutomountServiceAccountToken: pulumi.Bool(false),
	}, r.inside(PlatformNamespace, opts)...)
	if err != nil {
		return err
	}
	subjects := rbacv1.SubjectArray{&rbacv1.SubjectArgs{
		Kind:      pulumi.String("ServiceAccount"),
		Namespace: account.Metadata.Namespace().Elem(),
		Name:      account.Metadata.Name().Elem(),
	}}
	binding, err := rbacv1.NewClusterRoleBinding(ctx, "platform-binding", &rbacv1.ClusterRoleBindingArgs{
		Metadata: clusterMetadata(RolePlatform),
		RoleRef:  roleRef("ClusterRole", r.clusterRoles[RolePlatform].Metadata.Name().Elem()),
		Subjects: subjects,
	}, opts...)
	if err != nil {
		return err
	}
	r.all = append(r.all, account, binding)

	roles := NamespaceRoles()
	if choice := r.config.choice(); choice.Upstream() {
		roles = upstreamNamespaceRoles()
		roles[OperatorNamespace] = append(roles[OperatorNamespace], operators.AfterPod(OperatorAccount)...)
	} else if choice.Pod() {
		roles[OperatorNamespace] = append(roles[OperatorNamespace], operators.PlatformRules()...)
		roles[PlatformNamespace] = append(roles[PlatformNamespace], operators.AfterUpstream(OperatorSource)...)
	}
	for _, namespace := range slices.Sorted(maps.Keys(roles)) {
		if err := r.grant(ctx, "platform", namespace, RolePlatform, roles[namespace], subjects, opts); err != nil {
			return err
		}
	}
	return nil
}

// grant creates a Role in a namespace of the platform, and its binding.
func (r *rights) grant(
	ctx *pulumi.Context, part, namespace, name string, rules []rbac.PolicyRule, to rbacv1.SubjectArray, opts []pulumi.ResourceOption,
) error {
	role, err := rbacv1.NewRole(ctx, part+"-role-"+namespace, &rbacv1.RoleArgs{
		Metadata: r.metadata(namespace, name),
		Rules:    policyRules(rules),
	}, r.inside(namespace, opts)...)
	if err != nil {
		return err
	}
	binding, err := rbacv1.NewRoleBinding(ctx, part+"-binding-"+namespace, &rbacv1.RoleBindingArgs{
		Metadata: r.metadata(namespace, name),
		RoleRef:  roleRef("Role", role.Metadata.Name().Elem()),
		Subjects: to,
	}, r.inside(namespace, opts)...)
	r.all = append(r.all, role, binding)
	return err
}

// metadata returns the metadata of an object in one of the platform's namespaces, which the object depends on, or of a
// cluster-scoped object.
func (r *rights) metadata(namespace, name string) *metav1.ObjectMetaArgs {
	if namespace == "" {
		return clusterMetadata(name)
	}
	return &metav1.ObjectMetaArgs{
		Name: pulumi.String(name), Namespace: r.namespaces[namespace].Metadata.Name().Elem(), Labels: labels(),
	}
}

// inside adds an option that skips the deletion of an object if its namespace is deleted too.
func (r *rights) inside(namespace string, opts []pulumi.ResourceOption) []pulumi.ResourceOption {
	return append(slices.Clone(opts), pulumi.DeletedWith(r.namespaces[namespace]))
}

// clusterMetadata returns the metadata of a cluster-scoped object.
func clusterMetadata(name string) *metav1.ObjectMetaArgs {
	return &metav1.ObjectMetaArgs{
		Name: pulumi.String(name), Labels: labels(),
		// A role owns no objects, so a deletion has no dependents to wait for. The Kubernetes provider's wait misses a
		// deletion that completes just before it starts to watch.
		Annotations: pulumi.StringMap{"pulumi.com/deletionPropagationPolicy": pulumi.String("background")},
	}
}

func roleRef(kind string, name pulumi.StringInput) *rbacv1.RoleRefArgs {
	return &rbacv1.RoleRefArgs{ApiGroup: pulumi.String(rbac.GroupName), Kind: pulumi.String(kind), Name: name}
}

func policyRules(rules []rbac.PolicyRule) rbacv1.PolicyRuleArray {
	var converted rbacv1.PolicyRuleArray
	for _, rule := range rules {
		args := &rbacv1.PolicyRuleArgs{
			ApiGroups: pulumi.ToStringArray(rule.APIGroups),
			Resources: pulumi.ToStringArray(rule.Resources),
			Verbs:     pulumi.ToStringArray(rule.Verbs),
		}
		if len(rule.ResourceNames) > 0 {
			args.ResourceNames = pulumi.ToStringArray(rule.ResourceNames)
		}
		converted = append(converted, args)
	}
	return converted
}

func labels() pulumi.StringMap {
	return pulumi.StringMap{
		"app.kubernetes.io/part-of":    pulumi.String("strata"),
		"app.kubernetes.io/managed-by": pulumi.String("pulumi"),
	}
}
