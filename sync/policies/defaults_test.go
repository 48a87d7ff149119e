package policies_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/components/hop/stackdefaults"
	"github.com/strata-platform/strata/internal/pulumitest"
)

// least is the Stack that a team has to write, and filled is the spec that it gets.
const (
	least     = "{apiVersion: pulumi.com/v1, kind: Stack, metadata: {name: tried}, spec: {programRef: {name: x}}}"
	filled    = "{stack: tried, programRef: {name: x}, serviceAccountName: web, destroyOnFinalize: true, envRefs: {" + fromContext + ", " + google + "}, configRef: {" + instance + "}}"
	google    = "GOOGLE_CREDENTIALS: " + ofContext + "GOOGLE_CREDENTIALS}}, GOOGLE_PROJECT: " + ofContext + "GOOGLE_PROJECT}}, GOOGLE_REGION: " + ofContext + "GOOGLE_REGION}}"
	ofContext = "{type: Secret, secret: {name: strata-context, key: "
	instance  = "'platform:instance': {name: strata-context, key: instance}"
)

// complete are the fields of a Stack that leaves nothing out.
const complete = "stack: dev, programRef: {name: x}, serviceAccountName: web, destroyOnFinalize: false, envRefs: {" + fromContext + ", " + google + "}, configRef: {" + instance + "}"

// writings maps what a team writes into a new Stack to the spec that it gets. An empty spec means that the Stack gets what
// the team writes.
var writings = map[string]struct{ spec, want string }{
	"a Stack of a Program gets every value":       {"programRef: {name: x}", filled},
	"a Stack of a project gets every value":       {"fluxSource: {sourceRef: {apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, name: web}}", strings.Replace(filled, "programRef: {name: x}", "fluxSource: {sourceRef: {apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, name: web}}", 1)},
	"empty texts get the values":                  {"programRef: {name: x}, stack: '', serviceAccountName: ''", filled},
	"empty maps get the values":                   {"programRef: {name: x}, envRefs: {}, configRef: {}", filled},
	"maps that are null get the values":           {"programRef: {name: x}, envRefs: null, configRef: null, config: null", filled},
	"a Stack that says everything stays":          {complete, ""},
	"the team's stack wins":                       {"programRef: {name: x}, stack: organization/web/dev", strings.Replace(filled, "stack: tried", "stack: organization/web/dev", 1)},
	"resources that the team keeps are kept":      {"programRef: {name: x}, destroyOnFinalize: false", strings.Replace(filled, "destroyOnFinalize: true", "destroyOnFinalize: false", 1)},
	"the team's Google identity wins":             {"programRef: {name: x}, envRefs: {GOOGLE_CREDENTIALS: {type: Literal, literal: {value: mine}}}", strings.Replace(filled, ofContext+"GOOGLE_CREDENTIALS}}", "{type: Literal, literal: {value: mine}}", 1)},
	"the team's variables stay beside the others": {"programRef: {name: x}, envRefs: {A: {type: Literal, literal: {value: b}}}", strings.Replace(filled, "envRefs: {", "envRefs: {A: {type: Literal, literal: {value: b}}, ", 1)},
	"the team's instance wins":                    {"programRef: {name: x}, configRef: {'platform:instance': {name: mine, key: instance}}", strings.Replace(filled, instance, "'platform:instance': {name: mine, key: instance}", 1)},
	"an instance as config wins":                  {"programRef: {name: x}, config: {'platform:instance': mine}", strings.Replace(filled, "configRef: {"+instance+"}", "config: {'platform:instance': mine}", 1)},
	"an instance as secret config wins":           {"programRef: {name: x}, secrets: {'platform:instance': mine}", strings.Replace(filled, "configRef: {"+instance+"}", "secrets: {'platform:instance': mine}", 1)},
	"an instance from a Secret wins":              {"programRef: {name: x}, secretsRef: {'platform:instance': {type: Literal, literal: {value: a}}}", strings.Replace(filled, "configRef: {"+instance+"}", "secretsRef: {'platform:instance': {type: Literal, literal: {value: a}}}", 1)},
	"config of the team stays beside the others":  {"programRef: {name: x}, config: {instance: mine}, configRef: {a: {name: b, key: c1}}", strings.Replace(filled, "configRef: {", "config: {instance: mine}, configRef: {a: {name: b, key: c1}, ", 1)},
}

// lures are Stacks that try to get more by what the platform fills in. Values that a team writes are checked as before.
var lures = map[string]attempt{
	"another account, with the values of it":  {stack("programRef: {name: x}, serviceAccountName: infra"), "spec.serviceAccountName is infra" + asWeb},
	"the default account":                     {stack("programRef: {name: x}, serviceAccountName: default"), "spec.serviceAccountName is default" + asWeb},
	"a backend that hides the platform's":     {stack("programRef: {name: x}, envRefs: {PULUMI_BACKEND_URL: {type: Literal, literal: {value: 'file:///'}}}"), "spec.envRefs.PULUMI_BACKEND_URL is not key PULUMI_BACKEND_URL" + fromSecret},
	"a backend from a Secret of its own":      {stack("programRef: {name: x}, envRefs: {PULUMI_BACKEND_URL: {type: Secret, secret: {name: mine, key: PULUMI_BACKEND_URL}}}"), "spec.envRefs.PULUMI_BACKEND_URL is not key PULUMI_BACKEND_URL" + fromSecret},
	"the region as the passphrase":            {stack("programRef: {name: x}, envRefs: {PULUMI_CONFIG_PASSPHRASE: {type: Secret, secret: {name: strata-context, key: GOOGLE_REGION}}}"), "spec.envRefs.PULUMI_CONFIG_PASSPHRASE is not key PULUMI_CONFIG_PASSPHRASE" + fromSecret},
	"the context of another team":             {stack("programRef: {name: x}, envRefs: {GOOGLE_CREDENTIALS: {type: Secret, secret: {name: strata-context, key: GOOGLE_CREDENTIALS, namespace: team-api}}}"), "spec.envRefs.GOOGLE_CREDENTIALS" + inNamespace},
	"a backend beside the platform's":         {stack("programRef: {name: x}, backend: 'gs://other'"), "spec.backend" + noOtherWay},
	"variables of ConfigMaps over the others": {stack("programRef: {name: x}, envs: [mine]"), "spec.envs" + noOtherWay},
	"a pod as another than the platform's":    {stack("programRef: {name: x}, workspaceTemplate: {spec: {serviceAccountName: infra}}"), "spec.workspaceTemplate.spec.serviceAccountName" + ofTemplate},
	"an update of another stack":              {stack("programRef: {name: x}, updateTemplate: {spec: {stackName: prod}}"), "spec.updateTemplate.spec.stackName" + ofUpdate},
}

// testDefaults creates the policy that fills in what a Stack leaves out, and tries it in the namespace of team web.
func testDefaults(t *testing.T, c *cluster) {
	team := c.as(t, namespace, "web")
	older := strings.Replace(stack(good), "tried", "older", 1)
	if err := apply(t.Context(), team, parse(t, older)); err != nil {
		t.Fatal(err)
	}
	engine := &pulumitest.Engine{}
	if err := engine.Run("policies", "dev", func(ctx *pulumi.Context) error {
		_, err := stackdefaults.New(ctx, "stack-defaults")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	c.make(t, engine.All())
	eventually(t, "a Stack gets its values", func() error { return try(t, team, least) })

	for name, test := range writings {
		t.Run(name, func(t *testing.T) {
			object := parse(t, stack(test.spec))
			if err := team.Create(t.Context(), object, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			want := test.want
			if want == "" {
				want = "{" + test.spec + "}"
			}
			if err := hasSpec(object, want); err != nil {
				t.Error(err)
			}
		})
	}
	for name, test := range lures {
		if err := refusedBy(try(t, team, test.manifest), "strata-stacks", "strata-stacks", test.refusal); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, test := range stacks {
		// The rest of the table are Stacks without values, and the policy fills those in.
		if isSet := !strings.Contains(test.refusal, "is not set") && name != "with no context"; isSet && test.refusal != "" {
			if err := refusedBy(try(t, team, test.manifest), "strata-stacks", "strata-stacks", test.refusal); err != nil {
				t.Errorf("%s, with defaults: %v", name, err)
			}
		}
	}
	t.Run("hostile names", func(t *testing.T) { testHostileNames(t, team) })
	t.Run("a namespace of no team", func(t *testing.T) { testNoTeam(t, c) })
	t.Run("Flux finds no difference", func(t *testing.T) { testNoDrift(t, team) })
	t.Run("a field that the team removes", func(t *testing.T) { testRemovedFields(t, c, team) })
	t.Run("a Stack from before", func(t *testing.T) { testOlderStack(t, team, older) })
}

// testHostileNames checks that no name of a Stack becomes a hostile name of a Pulumi stack.
func testHostileNames(t *testing.T, team client.Client) {
	for _, name := range []string{"..", ".", "a/b", "../../a", "--help", "A", "a..b", "a b", "a\nb", "-a", "a" + strings.Repeat("b", 42)} {
		object := parse(t, least)
		object.SetName(name)
		if err := team.Create(t.Context(), object, client.DryRunAll); err == nil {
			t.Errorf("a Stack of the name %q is accepted, with the stack %v", name, object.Object["spec"])
		}
	}
	object := parse(t, least)
	object.SetName("")
	object.SetGenerateName("a-")
	if err := team.Create(t.Context(), object, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "spec.stack") {
		t.Errorf("a Stack without a name: %v, want a refusal that names spec.stack", err)
	}
}

// testNoTeam checks that nothing is filled in for Stacks of other namespaces, which have no context.
func testNoTeam(t *testing.T, c *cluster) {
	object := parse(t, stack("stack: dev, programRef: {name: x}"))
	object.SetNamespace("default")
	if err := c.Create(t.Context(), object, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	if err := hasSpec(object, "{stack: dev, programRef: {name: x}}"); err != nil {
		t.Error(err)
	}
}

// testNoDrift applies a Stack again, as Flux does to compare it with the cluster. A difference would make Flux apply, and
// the operator run, the Stack forever.
func testNoDrift(t *testing.T, team client.Client) {
	object := parse(t, strings.Replace(least, "tried", "steady", 1))
	if err := apply(t.Context(), team, object); err != nil {
		t.Fatal(err)
	}
	there := current(t, team, "steady")
	for _, opts := range [][]client.ApplyOption{{client.DryRunAll}, nil} {
		again := parse(t, strings.Replace(least, "tried", "steady", 1))
		if err := apply(t.Context(), team, again, opts...); err != nil {
			t.Fatal(err)
		}
		if again.GetResourceVersion() != there.GetResourceVersion() || !reflect.DeepEqual(again.Object["spec"], there.Object["spec"]) {
			t.Errorf("applied again it is\n%v\nwant\n%v", again, there)
		}
	}
}

// testRemovedFields applies a complete Stack and then the same Stack without its values, as a team does whose Stack is
// older than the policy.
func testRemovedFields(t *testing.T, c *cluster, team client.Client) {
	named := func(spec string) string { return strings.Replace(stack(spec), "tried", "removed", 1) }
	for _, manifest := range []string{named(complete), named("programRef: {name: x}")} {
		if err := apply(t.Context(), team, parse(t, manifest)); err != nil {
			t.Fatal(err)
		}
		object := current(t, team, "removed")
		if err := hasSpec(object, "{"+complete+"}"); err != nil {
			t.Errorf("after %s: %v", manifest, err)
		}
		if object.GetGeneration() != 1 {
			t.Errorf("the operator runs it again: its generation is %d", object.GetGeneration())
		}
	}
	// Upstream's operator writes Stacks as Go structs, which omit a field that is false.
	object := current(t, c, "removed")
	unstructured.RemoveNestedField(object.Object, "spec", "destroyOnFinalize")
	object.SetFinalizers([]string{"finalizer.stack.pulumi.com"})
	if err := c.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	if err := hasSpec(current(t, team, "removed"), "{"+complete+"}"); err != nil {
		t.Errorf("after a write of the operator: %v", err)
	}
	if err := c.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))); err != nil {
		t.Fatal(err)
	}
}

// testOlderStack changes a Stack from before the policy, which keeps its resources when it is deleted.
func testOlderStack(t *testing.T, team client.Client, older string) {
	before := "{" + good + "}"
	for what, change := range map[string]func() error{
		"the same manifest": func() error { return apply(t.Context(), team, parse(t, older)) },
		"an annotation": func() error {
			return team.Patch(t.Context(), current(t, team, "older"), client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"annotations": {"a": "b"}}}`)))
		},
	} {
		if err := errors.Join(change(), hasSpec(current(t, team, "older"), before)); err != nil {
			t.Errorf("after %s: %v", what, err)
		}
	}
	if err := apply(t.Context(), team, parse(t, strings.Replace(older, "stack: dev", "stack: dev, refresh: true", 1))); err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer("stack: tried", "stack: dev, refresh: true", "destroyOnFinalize: true, ", "").Replace(filled)
	if err := hasSpec(current(t, team, "older"), want); err != nil {
		t.Errorf("after a change: %v", err)
	}
}

func current(t *testing.T, c client.Client, name string) *unstructured.Unstructured {
	t.Helper()
	object := parse(t, least)
	object.SetName(name)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// hasSpec compares the spec of an object with one in YAML.
func hasSpec(object *unstructured.Unstructured, spec string) error {
	var want map[string]any
	if err := yaml.Unmarshal([]byte(spec), &want); err != nil {
		return fmt.Errorf("%w in %s", err, spec)
	}
	// In JSON, the numbers of both have one form.
	printed, err := json.Marshal(object.Object["spec"])
	wanted, wrong := json.Marshal(want)
	if string(printed) != string(wanted) {
		err = errors.Join(err, fmt.Errorf("the spec is %s\nwant %s", printed, wanted))
	}
	return errors.Join(err, wrong)
}
