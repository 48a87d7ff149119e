package policies_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/check/admission"
	"github.com/strata-platform/strata/internal/check/policies"
	"github.com/strata-platform/strata/internal/pulumitest"
	"github.com/strata-platform/strata/platform"
)

// offline returns the policies of `strata check` with the TenantPolicy of a namespace.
func offline(t *testing.T, engine *pulumitest.Engine, namespace string) *policies.Policies {
	t.Helper()
	made, err := policies.New(policies.Team{Namespace: namespace, Account: "web", Policy: tenantPolicy(t, engine, namespace)})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// tenantPolicy returns the spec of the TenantPolicy that layer 2 creates in a namespace.
func tenantPolicy(t *testing.T, engine *pulumitest.Engine, namespace string) (policy map[string]any) {
	t.Helper()
	for _, each := range engine.OfType("kubernetes:strata.dev/v1:TenantPolicy") {
		if in, _ := pulumitest.Plain(t, each.Inputs, "metadata.namespace"); in != namespace {
			continue
		}
		spec, _ := pulumitest.Plain(t, each.Inputs, "spec")
		encoded, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(encoded, &policy); err != nil {
			t.Fatal(err)
		}
		return policy
	}
	t.Fatalf("no TenantPolicy in %s", namespace)
	return nil
}

// TestCheckSaysWhatTheAPIServerSays judges every object of the tables without an API server. The expected messages are those
// that TestPoliciesEnforceTheTenantPolicy gets from a real one.
func TestCheckSaysWhatTheAPIServerSays(t *testing.T) {
	engine := layerTwo(t)
	known, err := admission.Kinds(nil)
	if err != nil {
		t.Fatal(err)
	}
	flux := map[string]string{
		"GitRepository": "gitrepositories", "OCIRepository": "ocirepositories", "Bucket": "buckets", "HelmRepository": "helmrepositories",
		"Kustomization": "kustomizations", "HelmRelease": "helmreleases",
	}
	for _, kind := range []struct {
		policy, namespace string
		cases             map[string]attempt
		fills             bool
	}{
		{"strata-programs", namespace, programs, false}, {"strata-programs", ofNames, databaseNames, false},
		{"strata-stacks", namespace, stacks, false}, {"strata-stacks", namespace, lures, true},
		{"strata-sources", namespace, sources, false}, {"strata-syncs", namespace, syncs, false},
		{"strata-sources", ofSigned, signedSources, false}, {"strata-stacks", ofSigned, signedStacks, false},
		{"strata-sources", ofNames, identifiedSources, false},
	} {
		judge := offline(t, engine, kind.namespace)
		for _, name := range slices.Sorted(maps.Keys(kind.cases)) {
			each := kind.cases[name]
			object := parse(t, each.manifest)
			object.SetNamespace(kind.namespace)
			resource, _, _ := known.Resource(object.GroupVersionKind())
			if plural := flux[object.GetKind()]; plural != "" {
				resource = schema.GroupVersionResource{Group: resource.Group, Version: resource.Version, Resource: plural}
			}
			fill := func() error {
				if !kind.fills {
					return nil
				}
				return judge.Fill(t.Context(), object, resource)
			}
			refused, err := known.Admit(t.Context(), object, fill)
			if err != nil || len(refused) > 0 {
				t.Errorf("%s: %s: %v %v, want no refusal before the policies", kind.policy, name, err, refused)
				continue
			}
			denials := judge.Judge(t.Context(), object, resource)
			switch {
			case each.refusal == "" && len(denials) > 0:
				t.Errorf("%s: %s: refused: %v", kind.policy, name, denials)
			case each.refusal != "" && len(denials) == 0:
				t.Errorf("%s: %s: accepted, want %s", kind.policy, name, each.refusal)
			case each.refusal != "" && (denials[0].Message != each.refusal || denials[0].Policy != kind.policy || denials[0].Binding != kind.policy):
				t.Errorf("%s: %s:\ngot  %v\nwant %s", kind.policy, name, denials[0], each.refusal)
			}
		}
	}
}

// TestCheckFillsInStacksAsTheClusterDoes compares the Stacks of the table of writings.
func TestCheckFillsInStacksAsTheClusterDoes(t *testing.T) {
	judge := offline(t, layerTwo(t), namespace)
	known, err := admission.Kinds(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range writings {
		object := parse(t, stack(test.spec))
		resource, _, _ := known.Resource(object.GroupVersionKind())
		refused, err := known.Admit(t.Context(), object, func() error { return judge.Fill(t.Context(), object, resource) })
		if err != nil || len(refused) > 0 {
			t.Errorf("%s: %v %v", name, err, refused)
			continue
		}
		want := test.want
		if want == "" {
			want = "{" + test.spec + "}"
		}
		if err := hasSpec(object, want); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if denials := judge.Judge(t.Context(), object, resource); len(denials) > 0 {
			t.Errorf("%s: %v", name, denials)
		}
	}
}

// shapes are objects that the API server refuses before its policies, and some that it accepts.
var shapes = map[string]string{
	"an unknown field":                 stack(good + ", refrehs: true"),
	"a field of another type":          stack(good + ", refresh: maybe"),
	"a map in place of a list":         stack(good + ", prerequisites: {a: b}"),
	"a value that is none of the enum": stack(good + ", envRefs: {A: {type: Nothing}}"),
	"a missing required field":         stack("stack: dev, serviceAccountName: web, envRefs: {" + fromContext + "}, fluxSource: {dir: a}"),
	"a name in capitals":               strings.Replace(program("{}"), "tried", "Tried", 1),
	"a program that is text":           program("a"),
	"a resource without a type":        program("{resources: {a: {}}}"),
	"a resource of a number":           program("{resources: {a: {type: 5}}}"),
	"an unknown option":                program("{resources: {a: {type: 'random:RandomPet', options: {protectt: true}}}}"),
	"a good Program":                   program("{resources: {a: {type: 'random:RandomPet'}}}"),
	"a good Stack":                     stack(good),
	"a Role":                           "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}}",
	"a Pod":                            "{apiVersion: v1, kind: Pod, metadata: {name: a}}",
	"a ServiceAccount":                 "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}}",
	"a ConfigMap":                      "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: b}}",
	"a ConfigMap with a number":        "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: 5}}",
	"a ConfigMap with a field":         "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, dat: {a: b}}",
	"a Service with a field":           "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {ports: [{port: 80, label: a}]}}",
	"a label that is none":             "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {a: 'b c'}}}",
}

// testCheck compares the refusals of `strata check` with those of the API server, in full.
func testCheck(t *testing.T, team client.Client) {
	judge := checkOf(t)
	all := maps.Clone(shapes)
	for _, table := range []map[string]attempt{programs, stacks} {
		for name, each := range table {
			all[name+": "+each.manifest[:40]] = each.manifest
		}
	}
	for name, manifest := range all {
		served := apply(t.Context(), team, parse(t, manifest), client.DryRunAll)
		refusals, err := judge.Refusals(t.Context(), parse(t, manifest))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if (served == nil) != (len(refusals) == 0) {
			t.Errorf("%s: the API server says %v, check says %v", name, served, refusals)
			continue
		}
		for i, each := range refusals {
			// The API server names all fields of the wrong form at once, and the first policy only.
			said := []string{each.Message, each.Message[strings.Index(each.Message, "): ")+1:], each.Message[strings.Index(each.Message, "is invalid: ")+1:]}
			if !slices.ContainsFunc(said, func(text string) bool {
				return strings.Contains(served.Error(), strings.TrimPrefix(strings.TrimPrefix(text, ": "), "s invalid: "))
			}) && (i == 0 || !strings.HasPrefix(each.Message, "ValidatingAdmissionPolicy")) {
				t.Errorf("%s:\ncheck says          %s\nthe API server says %v", name, each.Message, served)
			}
		}
	}
}

// checkOf returns the admission of `strata check` with the TenantPolicy and the permissions of team web.
func checkOf(t *testing.T) *admission.Admission {
	t.Helper()
	known, err := admission.Kinds(nil)
	if err != nil {
		t.Fatal(err)
	}
	rules := platform.ClusterRoles()[platform.RoleTeam]
	judge, err := admission.New(known, platform.Limits{Namespace: namespace, Policy: tenantPolicy(t, layerTwo(t), namespace)},
		platform.AccountLimits{Name: "web", Path: "./", Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	return judge
}
