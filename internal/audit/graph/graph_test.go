package graph_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/audit"
	"github.com/strata-platform/strata/internal/audit/graph"
)

const (
	web  = "team-web"
	shop = "team-shop"
)

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

func to(namespace, name string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}}
}

// role returns a ClusterRole.
func role(name string, verbs, groups, resources []string) rbacv1.ClusterRole {
	return rbacv1.ClusterRole{ObjectMeta: meta("", name), Rules: []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: groups, Resources: resources}}}
}

func bind(namespace, role string, subjects []rbacv1.Subject) rbacv1.RoleBinding {
	return rbacv1.RoleBinding{ObjectMeta: meta(namespace, role), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: role}, Subjects: subjects}
}

// platform returns the facts of a sound platform with the teams web and shop.
func platform() *graph.Facts {
	f := &graph.Facts{
		Teams: map[string]string{web: "web", shop: "shop"}, Guards: map[string]bool{"strata-hops": true, "strata-stacks": true, "strata-syncs": true},
		ClusterRoles: []rbacv1.ClusterRole{
			role("cluster-admin", []string{"*"}, []string{"*"}, []string{"*"}),
			role("strata:team", []string{"get", "list", "create"}, []string{"", "apps", "pulumi.com"}, []string{"secrets", "deployments", "stacks"}),
		},
		ClusterRoleBindings: []rbacv1.ClusterRoleBinding{{
			ObjectMeta: meta("", "flux"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "cluster-admin"}, Subjects: to("flux-system", "kustomize-controller"),
		}},
		Accounts: []corev1.ServiceAccount{{ObjectMeta: meta("flux-system", "kustomize-controller")}},
		Syncs:    []unstructured.Unstructured{sync("flux-system", "fleet", "kustomize-controller")},
		Sources:  []unstructured.Unstructured{source("flux-system", "fleet")},
	}
	for namespace, team := range f.Teams {
		f.Accounts = append(f.Accounts, corev1.ServiceAccount{ObjectMeta: meta(namespace, team)})
		f.RoleBindings = append(f.RoleBindings, bind(namespace, "strata:team", to(namespace, team)))
		f.Secrets = append(f.Secrets, corev1.Secret{ObjectMeta: meta(namespace, "login"), Data: map[string][]byte{"username": []byte(team + "-reader"), "password": []byte("password of " + team + "-reader")}})
		f.Syncs = append(f.Syncs, sync(namespace, team, team))
		f.Sources = append(f.Sources, source(namespace, team))
	}
	return f
}

func sync(namespace, name, account string) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"kind": "Kustomization", "metadata": map[string]any{"namespace": namespace, "name": name},
		"spec": map[string]any{"serviceAccountName": account, "sourceRef": map[string]any{"kind": "GitRepository", "name": name}},
	}}
}

func source(namespace, name string) unstructured.Unstructured {
	return unstructured.Unstructured{Object: map[string]any{
		"kind": "GitRepository", "metadata": map[string]any{"namespace": namespace, "name": name}, "spec": map[string]any{"url": "http://git/" + name + ".git"},
	}}
}

// git is a server whose passwords are derived from the logins.
var git = &audit.GitServer{
	URL: "http://git", Repositories: []string{"fleet", "web", "shop"}, Engineer: "engineer",
	Password: func(login string) string { return "password of " + login }, Reader: func(repository string) string { return repository + "-reader" },
}

func policies() *graph.Policies {
	return &graph.Policies{
		Project:  []graph.Binding{{Role: "roles/owner", Members: []string{"user:engineer"}}, {Role: "roles/sql", Members: []string{"serviceAccount:web@p", "serviceAccount:shop@p"}}},
		Accounts: map[string][]graph.Binding{"web@p": nil, "shop@p": nil},
		Roles: map[string][]string{
			"roles/owner": {"resourcemanager.projects.setIamPolicy", "iam.serviceAccounts.actAs"}, "roles/sql": {"cloudsql.databases.create"},
			"roles/token": {"iam.serviceAccounts.getAccessToken"},
		},
	}
}

func team(name string) audit.Identity {
	return audit.Identity{
		Name: "team " + name, Class: audit.Team, Team: name, Namespace: "team-" + name,
		Kubernetes: audit.ServiceAccount("team-"+name, name), Google: name + "@p", Git: name,
	}
}

// paths returns the unexpected paths of team web and of nobody, one a line.
func paths(facts *graph.Facts, google *graph.Policies) string {
	var lines []string
	for _, path := range graph.New(facts, git, google).Paths([]audit.Identity{team("web"), {Name: "anonymous", Class: audit.Anonymous, Kubernetes: audit.AnonymousUser, Google: "allUsers"}}) {
		if path.Expected {
			continue
		}
		line := path.Identity
		for _, step := range path.Steps {
			line += " → " + step.To + " [" + step.By + "]"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestASoundPlatformHasNoUnexpectedPath(t *testing.T) {
	if got := paths(platform(), policies()); got != "" {
		t.Errorf("got\n%s", got)
	}
}

func TestThePathOfEachPlantedHoleIsFound(t *testing.T) {
	for name, test := range map[string]struct {
		plant func(*graph.Facts, *graph.Policies)
		want  []string
	}{
		"RBAC: cluster-admin": {func(f *graph.Facts, _ *graph.Policies) {
			f.ClusterRoleBindings[0].Subjects = append(f.ClusterRoleBindings[0].Subjects, to(web, "web")...)
		}, []string{"team web → cluster-admin [may do everything (ClusterRole cluster-admin, bound by ClusterRoleBinding flux)]"}},
		"RBAC: another namespace": {func(f *graph.Facts, _ *graph.Policies) {
			f.RoleBindings = append(f.RoleBindings, bind(shop, "strata:team", to(web, "web")))
		}, []string{"team web → the Secrets of team shop [may read Secrets in namespace team-shop (ClusterRole strata:team, bound by RoleBinding team-shop/strata:team)]"}},
		"RBAC: everybody": {func(f *graph.Facts, _ *graph.Policies) {
			f.RoleBindings = append(f.RoleBindings, bind(shop, "strata:team", []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "system:unauthenticated"}}))
		}, []string{"anonymous → the Secrets of team shop ["}},
		"RBAC: a token": {func(f *graph.Facts, _ *graph.Policies) {
			f.ClusterRoles = append(f.ClusterRoles, role("tokens", []string{"create"}, []string{""}, []string{"serviceaccounts/token"}))
			f.RoleBindings = append(f.RoleBindings, bind("flux-system", "tokens", to(web, "web")))
		}, []string{"team web → account flux-system/kustomize-controller [may request tokens in namespace flux-system (ClusterRole tokens, bound by RoleBinding flux-system/tokens)] → cluster-admin ["}},
		"RBAC: a pod of a changed object": {func(f *graph.Facts, _ *graph.Policies) {
			f.ClusterRoles = append(f.ClusterRoles, role("jobs", []string{"update"}, []string{"batch"}, []string{"cronjobs"}))
			f.RoleBindings = append(f.RoleBindings, bind("flux-system", "jobs", to(web, "web")))
		}, []string{"team web → account flux-system/kustomize-controller [may update cronjobs in namespace flux-system (ClusterRole jobs, bound by RoleBinding flux-system/jobs)] → cluster-admin ["}},
		"RBAC: a changed webhook": {func(f *graph.Facts, _ *graph.Policies) {
			f.ClusterRoles = append(f.ClusterRoles, role("hooks", []string{"update"}, []string{"admissionregistration.k8s.io"}, []string{"mutatingwebhookconfigurations"}))
			f.ClusterRoleBindings = append(f.ClusterRoleBindings, rbacv1.ClusterRoleBinding{ObjectMeta: meta("", "hooks"), RoleRef: rbacv1.RoleRef{Kind: "ClusterRole", Name: "hooks"}, Subjects: to(web, "web")})
		}, []string{"team web → cluster-admin [may update mutatingwebhookconfigurations ("}},
		"RBAC: a binding in another namespace": {func(f *graph.Facts, _ *graph.Policies) {
			f.ClusterRoles = append(f.ClusterRoles, role("bind", []string{"bind", "create"}, []string{"rbac.authorization.k8s.io"}, []string{"clusterroles", "rolebindings"}))
			f.RoleBindings = append(f.RoleBindings, bind(shop, "bind", to(web, "web")))
		}, []string{"team web → account team-shop/shop [may bind ClusterRole strata:team in namespace team-shop (ClusterRole bind, bound by RoleBinding team-shop/bind)] → the Secrets of team shop ["}},
		"admission: hops": {func(f *graph.Facts, _ *graph.Policies) {
			f.Guards["strata-hops"] = false
			f.Accounts = append(f.Accounts, corev1.ServiceAccount{ObjectMeta: meta(web, "strong")})
			f.ClusterRoleBindings[0].Subjects = append(f.ClusterRoleBindings[0].Subjects, to(web, "strong")...)
			f.ClusterRoles[1].Rules[0].Resources = []string{"secrets"}
		}, []string{"team web → account team-web/strong [may create secrets in namespace team-web, and the admission policy strata-hops denies nothing (", "→ cluster-admin ["}},
		"Git: a login in a Secret": {func(f *graph.Facts, _ *graph.Policies) {
			f.Secrets = append(f.Secrets, corev1.Secret{ObjectMeta: meta(web, "leak"), Data: map[string][]byte{"username": []byte("fleet"), "password": []byte("password of fleet")}})
		}, []string{"team web → Git login fleet [reads Secret team-web/leak, which holds its credential (", "→ account flux-system/kustomize-controller [writes repository fleet, which Flux applies by Kustomization flux-system/fleet] → cluster-admin ["}},
		"IAM: the project's policy": {func(_ *graph.Facts, p *graph.Policies) {
			p.Project[0].Members = append(p.Project[0].Members, "serviceAccount:web@p")
		}, []string{"team web → the IAM policy of the project [has resourcemanager.projects.setIamPolicy (roles/owner on the project)]"}},
		"IAM: another account": {func(_ *graph.Facts, p *graph.Policies) {
			p.Project[0].Members = append(p.Project[0].Members, "serviceAccount:shop@p")
			p.Accounts["shop@p"] = []graph.Binding{{Role: "roles/token", Members: []string{"serviceAccount:web@p"}}}
		}, []string{"team web → Google account shop@p [has iam.serviceAccounts.getAccessToken (roles/token on the account)] → the IAM policy of the project ["}},
		"IAM: everybody": {func(_ *graph.Facts, p *graph.Policies) {
			p.Project[0].Members = append(p.Project[0].Members, "allUsers")
		}, []string{"anonymous → the IAM policy of the project ["}},
	} {
		t.Run(name, func(t *testing.T) {
			facts, google := platform(), policies()
			test.plant(facts, google)
			got := paths(facts, google)
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("no path %s in\n%s", want, got)
				}
			}
		})
	}
}

func TestPathsOfTheDesignAreExpected(t *testing.T) {
	engineer := audit.Identity{Name: "engineer", Class: audit.Engineer, Google: "engineer", Git: "engineer"}
	applier := audit.Identity{Name: "applier", Class: audit.Applier, Kubernetes: audit.ServiceAccount("flux-system", "kustomize-controller")}
	reached := map[string]bool{}
	for _, path := range graph.New(platform(), git, policies()).Paths([]audit.Identity{engineer, applier}) {
		if !path.Expected {
			t.Errorf("unexpected: %+v", path)
		}
		reached[path.Identity+" "+path.Jewel] = true
	}
	for _, want := range []string{"engineer cluster-admin", "engineer the IAM policy of the project", "applier cluster-admin", "applier the Secrets of team shop"} {
		if !reached[want] {
			t.Errorf("%s is not reached: %v", want, reached)
		}
	}
}
