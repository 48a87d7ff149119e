package policies_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/test/docstest"
	"github.com/strata-platform/strata/test/long"
)

// TestPoliciesEnforceTheTenantPolicy shares one API server among all policies, because its start takes seconds.
func TestPoliciesEnforceTheTenantPolicy(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	c.bindPlatform(t)
	asPlatform := c.as(t, "platform", "platform")
	c.makeFolder(t, asPlatform, "../../operator/config/crd")
	c.knowsTypes(t)
	c.makeFolder(t, asPlatform, ".")
	c.enforced(t)
	t.Run("the platform account reads nothing by them", func(t *testing.T) { testSecretsAsParameters(t, asPlatform) })
	team := c.as(t, namespace, "web")

	for _, kind := range []struct {
		policy, namespace string
		cases             map[string]attempt
	}{
		{"strata-programs", namespace, programs}, {"strata-programs", ofNames, databaseNames},
		{"strata-stacks", namespace, stacks}, {"strata-sources", namespace, sources}, {"strata-syncs", namespace, syncs},
		{"strata-artifacts", namespace, artifacts}, {"strata-sources", ofSigned, signedSources}, {"strata-stacks", ofSigned, signedStacks},
		{"strata-sources", ofNames, identifiedSources},
	} {
		t.Run(kind.policy+" in "+kind.namespace, func(t *testing.T) {
			as := c.as(t, kind.namespace, "web")
			for name, each := range kind.cases {
				object := parse(t, each.manifest)
				object.SetNamespace(kind.namespace)
				err := apply(t.Context(), as, object, client.DryRunAll)
				if each.refusal == "" {
					if err != nil {
						t.Errorf("%s: %v, want it accepted", name, err)
					}
					continue
				}
				if wrong := refusedBy(err, kind.policy, kind.policy, each.refusal); wrong != nil {
					t.Errorf("%s: %v", name, wrong)
				}
			}
		})
	}
	t.Run("who approves", func(t *testing.T) { testApprovals(t, c) })
	t.Run("a cluster that fills in nothing", func(t *testing.T) { testUnfilled(t, c, team) })
	t.Run("what a Stack leaves out", func(t *testing.T) { testDefaults(t, c) })
	t.Run("the pods of upstream's operator", func(t *testing.T) { testWorkspaces(t, c, team) })
	t.Run("the key of a team's state", func(t *testing.T) { testKeys(t, c, team) })
	t.Run("what strata check says", func(t *testing.T) { testCheck(t, team) })
	t.Run("every example", func(t *testing.T) { testExamples(t, c) })
	t.Run("what is there already", func(t *testing.T) { testWhatIsThere(t, c, team) })
	t.Run("a program of a thousand resources", func(t *testing.T) { testLargeProgram(t, team) })
	t.Run("a team without a TenantPolicy", func(t *testing.T) { testWithoutParameters(t, c, team) })
	t.Run("namespaces of no team, before parameters are known", func(t *testing.T) { testUnknownParameters(t, c) })
}

// testSecretsAsParameters tries to use Secrets as parameters. A policy could thereby reveal Secrets that the platform
// account may not read.
func testSecretsAsParameters(t *testing.T, asPlatform client.Client) {
	for _, object := range built(t, ".") {
		if object.GetKind() != "ValidatingAdmissionPolicy" {
			continue
		}
		object.Object["spec"].(map[string]any)["paramKind"] = map[string]any{"apiVersion": "v1", "kind": "Secret"}
		if err := apply(t.Context(), asPlatform, object, client.DryRunAll); err == nil || !strings.Contains(err.Error(), `must have "get" permission`) {
			t.Errorf("%s takes Secrets as its parameters: %v", object.GetName(), err)
		}
	}
}

// testExamples checks that the examples for teams pass with the defaults of teams.yaml, and the one in the docs, which has to
// stay short.
func testExamples(t *testing.T, c *cluster) {
	folders, err := filepath.Glob("../../examples/*/kustomization.yaml")
	if err != nil || len(folders) == 0 {
		t.Fatalf("found no examples: %v", err)
	}
	team := c.as(t, ofExamples, "web")
	for _, folder := range folders {
		for _, object := range built(t, filepath.Dir(folder)) {
			object.SetNamespace(ofExamples)
			if err := apply(t.Context(), team, object, client.DryRunAll); err != nil {
				t.Errorf("%s: %v", folder, err)
			}
		}
	}
	for _, block := range docstest.Blocks(t, "docs/reference/stack.md") {
		if block.Name != "least" {
			continue
		}
		if lines := strings.Count(block.Text, "\n"); lines > 40 {
			t.Errorf("%d lines are a team's Program and Stack with a database, a user, a password and a Secret, want at most 40", lines)
		}
		for manifest := range strings.SplitSeq(block.Text, "---\n") {
			object := parse(t, manifest)
			object.SetNamespace(ofExamples)
			if err := apply(t.Context(), team, object, client.DryRunAll); err != nil {
				t.Errorf("docs/reference/stack.md: %v", err)
			}
		}
	}
}

// testWhatIsThere narrows a team's TenantPolicy after the team has created objects.
func testWhatIsThere(t *testing.T, c *cluster, team client.Client) {
	operator := c.as(t, platform.OperatorNamespace, platform.OperatorAccount)
	if err := apply(t.Context(), team, parse(t, stack(good))); err != nil {
		t.Fatal(err)
	}
	there := parse(t, stack(good))
	demand := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"annotations": {"strata.dev/approval": "sometimes"}}}`))
	if wrong := refusedBy(team.Patch(t.Context(), there.DeepCopy(), demand), "strata-stacks", "strata-stacks-update", ofApproval); wrong != nil {
		t.Errorf("an unknown demand of approval: %v", wrong)
	}
	policy := parse(t, "{apiVersion: strata.dev/v1, kind: TenantPolicy, metadata: {name: strata}}")
	narrow := []byte(`{"spec": {"stackAccounts": ["infra"]}}`)
	if err := c.Patch(t.Context(), policy, client.RawPatch(types.MergePatchType, narrow)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Stack's account is no longer allowed", func() error {
		return refusedBy(try(t, team, stack(good+", refresh: true")), "strata-stacks", "strata-stacks-update",
			"spec.serviceAccountName is web. Stacks of team web may run as infra; for others ask the platform team")
	})
	patch := func(as client.Client, content string) error {
		return as.Patch(t.Context(), there, client.RawPatch(types.MergePatchType, []byte(content)))
	}
	for name, err := range map[string]error{
		"the operator's finalizer":                patch(operator, `{"metadata": {"finalizers": ["finalizer.stack.pulumi.com"]}}`),
		"an annotation of the team":               patch(team, `{"metadata": {"annotations": {"pulumi.com/reconciliation-request": "now"}}}`),
		"the same manifest again":                 try(t, team, stack(good)),
		"who may change what the team is allowed": try(t, c, stack("stack: dev")),
		"its deletion":                            team.Delete(t.Context(), there),
	} {
		if err != nil {
			t.Errorf("%s is held back: %v", name, err)
		}
	}
	// A destroy of a Stack is a run too.
	if wrong := refusedBy(patch(team, `{"spec": {"serviceAccountName": "default"}}`), "strata-stacks", "strata-stacks-update",
		"spec.serviceAccountName is default. Stacks of team web may run as infra; for others ask the platform team"); wrong != nil {
		t.Errorf("while it is deleted: %v", wrong)
	}
	if err := patch(operator, `{"metadata": {"finalizers": null}}`); err != nil {
		t.Errorf("it cannot go: %v", err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(there), there); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// testLargeProgram checks that the expressions stay within the API server's cost limit.
func testLargeProgram(t *testing.T, team client.Client) {
	var resources strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&resources, "r%d: {type: 'random:RandomPet', properties: {prefix: '${r0.id}', keepers: {a: {b: [c, d]}}}}, ", i)
	}
	if err := try(t, team, program("{resources: {"+resources.String()+"}}")); err != nil {
		t.Error(err)
	}
}

// testWithoutParameters deletes a team's TenantPolicy first, as may happen when a namespace is deleted, whose objects go
// in any order.
func testWithoutParameters(t *testing.T, c *cluster, team client.Client) {
	made := parse(t, program("{resources: {a: {type: 'random:RandomPet'}}}"))
	made.SetFinalizers([]string{"strata.dev/test"})
	if err := apply(t.Context(), team, made); err != nil {
		t.Fatal(err)
	}
	if err := c.Delete(t.Context(), parse(t, "{apiVersion: strata.dev/v1, kind: TenantPolicy, metadata: {name: strata}}")); err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(program("{}"), "tried", "other", 1)
	eventually(t, "nothing new is accepted", func() error {
		return refusedBy(try(t, team, other), "strata-programs", "strata-programs", "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction")
	})
	if err := team.Delete(t.Context(), made); err != nil {
		t.Error(err)
	}
	if err := team.Patch(t.Context(), made, client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))); err != nil {
		t.Error(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(made), made); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// testUnknownParameters creates policies with an unknown kind of parameters. The kind of every policy is unknown for a
// while after the API server's start.
func testUnknownParameters(t *testing.T, c *cluster) {
	for _, object := range built(t, ".") {
		object.SetName("unknown-" + object.GetName())
		spec := object.Object["spec"].(map[string]any)
		if object.GetKind() == "ValidatingAdmissionPolicy" {
			spec["paramKind"] = map[string]any{"apiVersion": "strata.dev/v1", "kind": "Unknown"}
		} else {
			spec["policyName"] = "unknown-" + spec["policyName"].(string)
		}
		if err := apply(t.Context(), c, object); err != nil {
			t.Fatal(err)
		}
	}
	for policy, manifest := range map[string]string{
		"strata-programs": program("{}"), "strata-stacks": stack(good),
		"strata-sources": source("GitRepository", "url: 'https://example.com'"), "strata-syncs": sync("sourceRef: {kind: GitRepository, name: web}"),
	} {
		eventually(t, "policy unknown-"+policy+" refuses", func() error {
			err := try(t, c, manifest)
			if err == nil || !strings.Contains(err.Error(), "'unknown-"+policy+"' denied request: failed to configure policy: failed to find resource referenced by paramKind") {
				return fmt.Errorf("got %w, want it refused for want of the kind", err)
			}
			return nil
		})
		object := parse(t, manifest)
		object.SetNamespace("default")
		if err := apply(t.Context(), c, object, client.DryRunAll); err != nil {
			t.Errorf("%s: %v, want it accepted", policy, err)
		}
	}
}

// attempt is an object that a team commits, and the message if it is refused; an empty message means that it is accepted.
type attempt struct{ manifest, refusal string }
