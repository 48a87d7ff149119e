// Package graph computes which identity can become which on a platform, from the live RBAC, admission policies, IAM policies and Git permissions,
// and finds the shortest path of each identity to what is worth having.
package graph

import (
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/internal/audit"
)

// Facts are the objects of a platform that decide which identity can become which.
type Facts struct {
	ClusterRoles        []rbacv1.ClusterRole
	Roles               []rbacv1.Role
	ClusterRoleBindings []rbacv1.ClusterRoleBinding
	RoleBindings        []rbacv1.RoleBinding
	// Accounts are the service accounts. Teams maps the namespaces of teams to the teams' names.
	Accounts []corev1.ServiceAccount
	Teams    map[string]string
	// Secrets are all Secrets. They never leave the memory of the audit.
	Secrets []corev1.Secret
	// Guards are the names of the admission policies that are bound, and deny.
	Guards map[string]bool
	// Syncs and Sources are Flux's Kustomizations and GitRepositories.
	Syncs, Sources []unstructured.Unstructured
}

var (
	syncKind   = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
	sourceKind = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
)

// Gather reads the facts of a cluster as its administrator.
func Gather(ctx context.Context, client kubernetes.Interface, objects dynamic.Interface) (*Facts, error) {
	f := &Facts{Teams: map[string]string{}, Guards: map[string]bool{}}
	for _, step := range []func(context.Context, kubernetes.Interface) error{f.gatherRBAC, f.gatherAccounts, f.gatherGuards} {
		if err := step(ctx, client); err != nil {
			return nil, fmt.Errorf("read which identity can become which: %w", err)
		}
	}
	for kind, into := range map[schema.GroupVersionResource]*[]unstructured.Unstructured{syncKind: &f.Syncs, sourceKind: &f.Sources} {
		list, err := objects.Resource(kind).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue // Flux is not there.
		}
		if err != nil {
			return nil, fmt.Errorf("read what Flux applies: %w", err)
		}
		*into = list.Items
	}
	return f, nil
}

func (f *Facts) gatherRBAC(ctx context.Context, client kubernetes.Interface) error {
	clusterRoles, err := client.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	roles, err := client.RbacV1().Roles("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	clusterBindings, err := client.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	bindings, err := client.RbacV1().RoleBindings("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	f.ClusterRoles, f.Roles, f.ClusterRoleBindings, f.RoleBindings = clusterRoles.Items, roles.Items, clusterBindings.Items, bindings.Items
	return nil
}

func (f *Facts) gatherAccounts(ctx context.Context, client kubernetes.Interface) error {
	accounts, err := client.CoreV1().ServiceAccounts("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	secrets, err := client.CoreV1().Secrets("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	namespaces, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{LabelSelector: hop.TeamLabel})
	if err != nil {
		return err
	}
	f.Accounts, f.Secrets = accounts.Items, secrets.Items
	for _, namespace := range namespaces.Items {
		f.Teams[namespace.Name] = namespace.Labels[hop.TeamLabel]
	}
	return nil
}

func (f *Facts) gatherGuards(ctx context.Context, client kubernetes.Interface) error {
	policies, err := client.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	bindings, err := client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, binding := range bindings.Items {
		exists := slices.ContainsFunc(policies.Items, func(p admissionv1.ValidatingAdmissionPolicy) bool { return p.Name == binding.Spec.PolicyName })
		if exists && slices.Contains(binding.Spec.ValidationActions, admissionv1.Deny) {
			f.Guards[binding.Spec.PolicyName] = true
		}
	}
	return nil
}

// accountsIn returns the user names of the service accounts of a namespace.
func (f *Facts) accountsIn(namespace string) []string {
	var names []string
	for _, account := range f.Accounts {
		if account.Namespace == namespace {
			names = append(names, audit.ServiceAccount(namespace, account.Name))
		}
	}
	return names
}

// namespaces returns the namespaces that have service accounts, sorted.
func (f *Facts) namespaces() []string {
	var names []string
	for _, account := range f.Accounts {
		names = append(names, account.Namespace)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
