package platform_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/internal/audit"
	"github.com/strata-platform/strata/internal/audit/report"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/teams"
	"github.com/strata-platform/strata/test/long"
)

// hole is a permission that the platform does not have, planted into a cluster.
type hole struct {
	// plant creates the hole. The test removes the object that plant returns, or calls mend.
	plant func(*testing.T, *cluster) (mend func())
	// finds are parts of the report's lines about the hole: every finding and every path has one of them.
	finds []string
	// path is the shortest path that the hole opens; empty if it opens none.
	path string
}

// created returns a hole that consists of an object.
func created(manifest string) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		c.create(t, manifest)
		return func() {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(manifest), object); err != nil {
				t.Fatal(err)
			}
			if err := c.Delete(t.Context(), object); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// unbound returns a hole that consists of a missing binding of an admission policy.
func unbound(name string) func(*testing.T, *cluster) func() {
	return func(t *testing.T, c *cluster) func() {
		binding := &unstructured.Unstructured{}
		binding.SetAPIVersion("admissionregistration.k8s.io/v1")
		binding.SetKind("ValidatingAdmissionPolicyBinding")
		if err := c.Get(t.Context(), client.ObjectKey{Name: name}, binding); err != nil {
			t.Fatal(err)
		}
		if err := c.Delete(t.Context(), binding); err != nil {
			t.Fatal(err)
		}
		return func() {
			binding.SetResourceVersion("")
			binding.SetUID("")
			if err := c.Create(t.Context(), binding); err != nil {
				t.Fatal(err)
			}
		}
	}
}

const bindingTo = "{apiVersion: rbac.authorization.k8s.io/v1, kind: %s, metadata: {name: hole%s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: '%s'}, subjects: [{kind: ServiceAccount, namespace: %s, name: %s}]}"

// holes are planted holes, one of each class that RBAC and admission refuse.
var holes = map[string]hole{
	"a team is bound to cluster-admin": {
		created(fmt.Sprintf(bindingTo, "ClusterRoleBinding", "", "cluster-admin", "team-web", "web")),
		// Who may become the team has its permissions, too.
		[]string{"team web", "account team-web/web → cluster-admin"},
		"team web → cluster-admin",
	},
	"a team is bound in another team's namespace": {
		created(fmt.Sprintf(bindingTo, "RoleBinding", ", namespace: team-api", "strata:team", "team-web", "web")), []string{"team web"},
		"team web → the Secrets of team api",
	},
	"everybody may read a team's Secrets": {
		created("{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: hole, namespace: team-api}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view-secrets}, " +
			"subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: 'system:unauthenticated'}]}"),
		[]string{"anonymous"}, "anonymous → the Secrets of team api",
	},
	"no policy protects the hops": {unbound("strata-hops"), []string{"change its context", "delete its context", "keep a token", "decide whose signatures"}, ""},
	"no policy limits Stacks":     {unbound("strata-stacks"), []string{"run a Stack"}, ""},
	"no policy limits Programs":   {unbound("strata-programs"), []string{"read the stack of a lower layer", "declare a cluster", "import an existing database", "take over"}, ""},
}

// TestTheAuditFindsPlantedHolesAndNothingElse audits the objects of layers 2 and 3 on a real API server, by impersonation as on Google
// Cloud and with tokens as on this machine.
func TestTheAuditFindsPlantedHolesAndNothingElse(t *testing.T) {
	long.Test(t)
	c := newAuditedCluster(t)
	for _, impersonate := range []bool{true, false} {
		t.Run(fmt.Sprintf("impersonate %v", impersonate), func(t *testing.T) {
			if problems := audited(t, c, impersonate); len(problems) > 0 {
				t.Errorf("a sound platform has\n%s", strings.Join(problems, "\n"))
			}
		})
	}
	for name, h := range holes {
		t.Run(name, func(t *testing.T) {
			mend := h.plant(t, c)
			defer mend()
			var problems []string
			eventually(t, "the hole is open", func() error {
				if problems = audited(t, c, false); len(problems) == 0 {
					return fmt.Errorf("the audit finds nothing")
				}
				return nil
			})
			for _, problem := range problems {
				if !slices.ContainsFunc(h.finds, func(part string) bool { return strings.Contains(problem, part) }) {
					t.Errorf("the report also has %s", problem)
				}
			}
			if h.path != "" && !slices.Contains(problems, "✗ "+h.path) {
				t.Errorf("the report has no path %s:\n%s", h.path, strings.Join(problems, "\n"))
			}
			t.Log(strings.Join(problems, "\n"))
		})
		eventually(t, "the hole is closed", func() error {
			if problems := audited(t, c, false); len(problems) > 0 {
				return fmt.Errorf("the report has %s", problems[0])
			}
			return nil
		})
	}
}

// newAuditedCluster returns a cluster with the objects of layers 2 and 3, and the accounts that Kubernetes' controllers would create.
func newAuditedCluster(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t, "local")
	act := c.as(t, platform.PlatformNamespace, platform.PlatformAccount)
	for _, folder := range []string{"../sync/policies", "../operator/config/crd", "../operator/config/manager"} {
		for _, object := range built(t, folder) {
			if err := act.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kustomize-controller"), client.ForceOwnership); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.create(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: view-secrets}, rules: [{apiGroups: [''], resources: [secrets], verbs: [get, list]}]}")
	for _, namespace := range []string{"team-web", "team-api", platform.PlatformNamespace, platform.OperatorNamespace} {
		_ = c.as(t, namespace, "default")
	}
	_ = c.as(t, "team-web", hop.PlanAccount)
	admin, err := kubernetes.NewForConfig(c.config)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"strata.dev/v1/plans", "strata.dev/v1/approvals", "strata.dev/v1/stacklogs", "pulumi.com/v1/stacks", "pulumi.com/v1/programs"} {
		eventually(t, path+" are served", func() error {
			return admin.Discovery().RESTClient().Get().AbsPath("/apis/" + path).Do(t.Context()).Error()
		})
	}
	eventually(t, "the policies deny", func() error {
		if problems := audited(t, c, true); len(problems) > 0 {
			return fmt.Errorf("%s", strings.Join(problems, "\n"))
		}
		return nil
	})
	return c
}

// audited returns the lines of the report about what is unexpected.
func audited(t *testing.T, c *cluster, impersonate bool) []string {
	t.Helper()
	file, err := teams.Decode([]byte("apiVersion: strata/v1\nkind: Teams\nteams:\n- name: web\n- {name: api, may: [workloads], accounts: [{name: infra, may: [stacks, sources], path: ./infra}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	before := c.versions(t)
	made, err := report.Make(t.Context(), &audit.Site{Target: "gke", Config: c.config, Impersonate: impersonate, Tenants: file.Teams}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if after := c.versions(t); after != before {
		t.Errorf("the audit has changed objects:\n%s\n%s", before, after)
	}
	var text strings.Builder
	if err := report.Text(&text, made); err != nil {
		t.Fatal(err)
	}
	var problems []string
	for line := range strings.Lines(text.String()) {
		// Flux's kinds do not exist here, so the API server authorises the account with sources and has nothing to admit.
		if strings.Contains(line, "account infra may have Flux fetch a foreign repository") {
			continue
		}
		if strings.HasPrefix(line, "✗") || strings.HasPrefix(line, "?") {
			problems = append(problems, strings.TrimSuffix(line, "\n"))
		}
	}
	return problems
}

// versions returns the names and versions of all objects that an audit could change, except leases and events.
func (c *cluster) versions(t *testing.T) string {
	t.Helper()
	// The cluster's own client knows the kinds of layer 2 only.
	all, err := client.New(c.config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, kind := range []string{
		"v1 Secret", "v1 ConfigMap", "v1 ServiceAccount", "v1 Namespace", "v1 Pod", "v1 Service", "v1 ResourceQuota", "v1 LimitRange",
		"rbac.authorization.k8s.io/v1 ClusterRole", "rbac.authorization.k8s.io/v1 ClusterRoleBinding", "rbac.authorization.k8s.io/v1 Role", "rbac.authorization.k8s.io/v1 RoleBinding",
		"admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy", "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding",
		"apiextensions.k8s.io/v1 CustomResourceDefinition", "networking.k8s.io/v1 NetworkPolicy", "strata.dev/v1 TenantPolicy", "strata.dev/v1 Plan",
		"strata.dev/v1 Approval", "pulumi.com/v1 Stack", "pulumi.com/v1 Program",
	} {
		version, name, _ := strings.Cut(kind, " ")
		list := &metav1.PartialObjectMetadataList{}
		list.APIVersion, list.Kind = version, name+"List"
		if err := all.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			found = append(found, name+" "+item.Namespace+"/"+item.Name+" "+item.ResourceVersion)
		}
	}
	slices.Sort(found)
	return strings.Join(found, "\n")
}
