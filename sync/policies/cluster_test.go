// Package policies_test sends requests of a team's account to an API server that enforces the policies of this folder with
// the TenantPolicies of layer 2.
package policies_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/local/clustertest"
	"github.com/strata-platform/strata/internal/pulumitest"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/teams"
)

// The namespaces of the team web, of a team with the defaults of teams.yaml, of a team that may declare every type of Google
// Cloud, and of a team whose commits must be signed. The account of each team is called web.
const namespace, ofExamples, ofNames, ofSigned = "team-web", "team-examples", "team-names", "team-signed"

// cluster is a control plane with the kinds of Flux and the operator, and the objects that layer 2 creates for the team
// web.
type cluster struct {
	*clustertest.Cluster // as the administrator
	config               *rest.Config
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{Cluster: clustertest.Start(t)}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(c.Kubeconfig(t, "127.0.0.1")))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	c.config = config
	for name, rules := range platform.ClusterRoles() {
		if err := c.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}); err != nil {
			t.Fatal(err)
		}
	}
	// No team has these permissions. With them, only a policy can refuse a request.
	if err := c.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "everything"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"source.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io", "helm.toolkit.fluxcd.io"}, Resources: []string{"*"}, Verbs: []string{"*"},
	}}}); err != nil {
		t.Fatal(err)
	}
	c.make(t, layerTwo(t).All())
	return c
}

// bindPlatform grants the platform account the cluster-scoped permissions that layer 2 grants it.
func (c *cluster) bindPlatform(t *testing.T) {
	t.Helper()
	if err := c.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "platform"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: platform.RolePlatform},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: platform.PlatformNamespace, Name: platform.PlatformAccount}},
	}); err != nil {
		t.Fatal(err)
	}
}

// knowsTypes waits until the controller that type-checks expressions knows the operator's kinds: it reports nothing about
// unknown kinds. It checks each policy once.
func (c *cluster) knowsTypes(t *testing.T) {
	t.Helper()
	for _, plural := range []string{"programs", "stacks"} {
		attempts := 0
		eventually(t, "the types of "+plural+" are known", func() error {
			attempts++
			wrong := &admissionv1.ValidatingAdmissionPolicy{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("wrong-%s-%d", plural, attempts)},
				Spec: admissionv1.ValidatingAdmissionPolicySpec{
					MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
						RuleWithOperations: admissionv1.RuleWithOperations{
							Operations: []admissionv1.OperationType{admissionv1.Create},
							Rule:       admissionv1.Rule{APIGroups: []string{"pulumi.com"}, APIVersions: []string{"v1"}, Resources: []string{plural}},
						},
					}}},
					Validations: []admissionv1.Validation{{Expression: "object.nothing == 1"}},
				},
			}
			if err := c.Create(t.Context(), wrong); err != nil {
				return err
			}
			eventually(t, wrong.Name+" is looked at", func() error {
				err := c.Get(t.Context(), client.ObjectKeyFromObject(wrong), wrong)
				if err == nil && wrong.Status.TypeChecking == nil {
					err = errors.New("its types are not checked")
				}
				return err
			})
			if len(wrong.Status.TypeChecking.ExpressionWarnings) == 0 {
				return errors.New("nothing is found wrong with an unknown field")
			}
			return nil
		})
	}
}

func hopTo(namespace string, policy hop.Policy) *hop.HopArgs {
	return &hop.HopArgs{
		Namespace: namespace, Account: "web", Roles: []string{platform.RoleTeam},
		Operator: hop.Operator{Namespace: pulumi.String(platform.OperatorNamespace), Account: pulumi.String(platform.OperatorAccount), Role: platform.RoleOperatorTenant},
		PlanRole: platform.RoleTeamPlan,
		Source:   hop.Source{URL: pulumi.String("https://git.example.com/web.git"), Branch: pulumi.String("main"), Path: pulumi.String("./")},
		Policy:   &policy,
		Context: handoff.Tenant{
			BackendURL: pulumi.String("gs://example-web"), Passphrase: pulumi.String("canary-passphrase"), GoogleCredentials: pulumi.String(""),
			Project: pulumi.String("example"), Region: pulumi.String("europe-west1"), Instance: pulumi.String("shared"),
		},
	}
}

func layerTwo(t *testing.T) *pulumitest.Engine {
	t.Helper()
	engine := &pulumitest.Engine{}
	err := engine.Run("policies", "dev", func(ctx *pulumi.Context) error {
		if _, err := hop.NewPolicyKind(ctx, "policies"); err != nil {
			return err
		}
		web := hopTo(namespace, hop.Policy{
			Types: []string{"gcp:sql/database:Database", "random:*"}, StackAccounts: []string{"web"},
			Sources: pulumi.ToStringArray([]string{"https://git.example.com/shared", "oci://ghcr.io/example/apps", "https://storage.googleapis.com/example"}),
			Contact: pulumi.String("the platform team"),
		})
		web.Roles = append(web.Roles, "everything")
		web.Accounts = []hop.Account{{Name: "infra", Roles: []string{platform.RoleTeamStacks}}}
		web.Approvers = hop.Approvers{Role: platform.RoleApprover, Users: []string{"alice@example.com"}, Groups: []string{"dbas@example.com"}, Accounts: true}
		if _, err := hop.NewHop(ctx, "web", web); err != nil {
			return err
		}
		wide := hop.Policy{Types: []string{"gcp:*", "strata:*"}, StackAccounts: []string{"web"}, Contact: pulumi.String("the platform team")}
		names := hopTo(ofNames, wide)
		names.Roles = append(names.Roles, "everything")
		names.Source.Artifact = &hop.Artifact{
			URL: pulumi.String("oci://ghcr.io/example/apps"), Versions: pulumi.String("*"),
			Identity: &hop.Identity{Issuer: "https://issuer", Subject: "https://a/b.yaml@main"},
		}
		if _, err := hop.NewHop(ctx, "names", names); err != nil {
			return err
		}
		signed := hopTo(ofSigned, hop.Policy{StackAccounts: []string{"web"}, Sources: pulumi.ToStringArray([]string{
			"oci://ghcr.io/example/apps", "https://storage.googleapis.com/example",
		}), Contact: pulumi.String("the platform team")})
		signed.Roles = append(signed.Roles, "everything")
		signed.Source.Verify = &hop.Verification{Mode: "HEAD", Keys: map[string]string{"anna.asc": "key"}}
		if _, err := hop.NewHop(ctx, "signed", signed); err != nil {
			return err
		}
		_, err := hop.NewHop(ctx, "examples", hopTo(ofExamples, hop.Policy{Types: teams.DefaultAllow(), StackAccounts: []string{"web"}}))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

// make creates the objects that the layer registered, namespaces and CustomResourceDefinitions first, in the same way as
// layer 2.
func (c *cluster) make(t *testing.T, resources []pulumitest.Resource) {
	t.Helper()
	for _, first := range []bool{true, false} {
		for _, r := range resources {
			kind := r.Type[strings.LastIndex(r.Type, ":")+1:]
			if isFirst := kind == "Namespace" || kind == "CustomResourceDefinition"; !strings.HasPrefix(r.Type, "kubernetes:") || isFirst != first {
				continue
			}
			content := map[string]any{}
			for key := range r.Inputs {
				content[string(key)], _ = pulumitest.Plain(t, r.Inputs, string(key))
			}
			content["kind"] = strings.TrimSuffix(kind, "Patch")
			// The API server serves a new kind after a moment.
			eventually(t, r.Name+" is made", func() error { return apply(t.Context(), c, &unstructured.Unstructured{Object: content}) })
		}
	}
}

// makeFolder applies a folder of manifests with a client.
func (c *cluster) makeFolder(t *testing.T, as client.Client, folder string) {
	t.Helper()
	for _, object := range built(t, folder) {
		if err := apply(t.Context(), as, object); err != nil {
			t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
}

// as returns a client that acts as a service account.
func (c *cluster) as(t *testing.T, namespace, name string) client.Client {
	t.Helper()
	return c.user(t, fmt.Sprintf("system:serviceaccount:%s:%s", namespace, name), "system:serviceaccounts", "system:serviceaccounts:"+namespace)
}

// user returns a client that acts as a user in groups.
func (c *cluster) user(t *testing.T, name string, groups ...string) client.Client {
	t.Helper()
	config := rest.CopyConfig(c.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: append(groups, "system:authenticated")}
	as, err := client.New(config, client.Options{Mapper: c.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return as
}

// enforced waits until the API server enforces every policy, which takes about a second after their creation.
func (c *cluster) enforced(t *testing.T) {
	t.Helper()
	team := c.as(t, namespace, "web")
	for name, manifest := range map[string]string{
		"Programs": `{apiVersion: pulumi.com/v1, kind: Program, metadata: {name: x}, program: {resources: {x: {type: "x:y:Z"}}}}`,
		"Stacks":   "{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: x}, spec: {stack: dev}}",
		"sources":  "{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: x}, spec: {url: 'https://x', interval: 1m}}",
		"syncs":    "{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {name: x}, spec: {interval: 1m, prune: true, sourceRef: {kind: GitRepository, name: web}}}",
	} {
		eventually(t, "there is a policy for "+name, func() error {
			if err := try(t, team, manifest); err == nil || !strings.Contains(err.Error(), "denied request") {
				return fmt.Errorf("got %w, want it refused by a policy", err)
			}
			return nil
		})
	}
	for _, object := range built(t, ".") {
		if object.GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		eventually(t, "the types of "+object.GetName()+" are checked", func() error {
			policy := &admissionv1.ValidatingAdmissionPolicy{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), policy); err != nil {
				return err
			}
			if policy.Status.ObservedGeneration != policy.Generation || policy.Status.TypeChecking == nil {
				return fmt.Errorf("observed generation %d of %d", policy.Status.ObservedGeneration, policy.Generation)
			}
			for _, warning := range policy.Status.TypeChecking.ExpressionWarnings {
				t.Errorf("%s: %s: %s", policy.Name, warning.FieldRef, warning.Warning)
			}
			return nil
		})
	}
}

// try returns the error of a dry run that applies an object in the team's namespace.
func try(t *testing.T, as client.Client, manifest string) error {
	t.Helper()
	return apply(t.Context(), as, parse(t, manifest), client.DryRunAll)
}

func parse(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), object); err != nil {
		t.Fatalf("%v in:\n%s", err, manifest)
	}
	object.SetNamespace(namespace)
	return object
}

// apply applies a manifest in the same way as Flux.
func apply(ctx context.Context, c client.Client, object *unstructured.Unstructured, opts ...client.ApplyOption) error {
	opts = append(opts, client.FieldOwner("kustomize-controller"), client.ForceOwnership)
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), opts...)
}

// refusedBy returns an error unless err is a policy's refusal with exactly this message.
func refusedBy(err error, policy, binding, message string) error {
	want := fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding '%s' denied request: %s", policy, binding, message)
	if !apierrors.IsInvalid(err) || !strings.HasSuffix(err.Error(), want) {
		return fmt.Errorf("got %w\nwant %s", err, want)
	}
	return nil
}

func built(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		t.Fatal(err)
	}
	var all []*unstructured.Unstructured
	for _, r := range resources.Resources() {
		content, err := r.Map()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, &unstructured.Unstructured{Object: content})
	}
	// Layer 2 makes Flux apply them in this order: the API server accepts no binding of a missing policy.
	slices.SortStableFunc(all, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetKind(), b.GetKind()) })
	return all
}

func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("timeout: waited until %s: %v", what, last)
	}
}
