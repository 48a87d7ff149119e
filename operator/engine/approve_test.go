package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/test/long"
)

const mapType = "kubernetes:core/v1:ConfigMap"

const withMap = `resources:
  orders:
    type: ` + mapType + `
    properties:
      metadata: {namespace: NAMESPACE, name: orders, annotations: {pulumi.com/deletionPropagationPolicy: background}}
      data: {colour: red}
  login:
    type: kubernetes:core/v1:Secret
    properties: {metadata: {namespace: NAMESPACE, name: login, annotations: {pulumi.com/deletionPropagationPolicy: background}}, stringData: {token: {fn::secret: canary-token}}}
`

// asked records what a run asks its caller to approve.
type asked struct {
	plans  []*events.Plan
	answer error
}

func (a *asked) approve(_ context.Context, planned *events.Plan) error {
	a.plans = append(a.plans, planned)
	return a.answer
}

// steps returns the steps of the only question.
func (a *asked) steps(t *testing.T) []string {
	t.Helper()
	if len(a.plans) != 1 {
		t.Fatalf("the engine asked %d times, want once", len(a.plans))
	}
	var steps []string
	for _, step := range a.plans[0].Steps {
		text := step.Op + " " + step.Type + " " + step.Name
		for _, field := range step.Fields {
			if field.Replaces {
				text += " " + field.Path
			}
		}
		steps = append(steps, text)
	}
	return steps
}

func TestARunAsksBeforeItChangesAnything(t *testing.T) {
	long.Test(t)
	f, c, of := kubernetesFixture(t)
	namespace := c.namespace(t)
	request := func(program string, a *asked) engine.Request {
		req := of(strings.ReplaceAll(program, "NAMESPACE", namespace))
		req.Approve = a.approve
		req.Risks = func(resourceType string) bool { return resourceType == mapType }
		return req
	}
	maps := func() (names []string) {
		list, err := c.CoreV1().ConfigMaps(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, each := range list.Items {
			names = append(names, each.Name)
		}
		return names
	}
	state := filepath.Join(f.backend, ".pulumi", "stacks", "shop", "dev.json")
	read := func() string {
		content, err := os.ReadFile(state)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}

	// Nothing is at risk in a new stack. Who asks about every change sees what the first update creates.
	first := &asked{answer: errors.New("no")}
	every := request(withMap, first)
	every.Risks = nil
	if _, err := f.run(t, every); !errors.Is(err, first.answer) {
		t.Errorf("error %v, want that of the caller", err)
	}
	if got := first.steps(t); len(got) != 2 || len(maps()) != 0 || first.plans[0].State != "" {
		t.Errorf("the first update would %v, state %q, and there are the maps %v", got, first.plans[0].State, maps())
	}
	nobody := &asked{answer: errors.New("no")}
	f.mustRun(t, request(withMap, nobody))
	if len(nobody.plans) != 0 || len(maps()) != 1 {
		t.Fatalf("the engine asked about %v before it created the maps %v", nobody.plans, maps())
	}

	before := read()
	replaced := strings.Replace(withMap, "name: orders,", "name: other,", 1)
	for name, tc := range map[string]struct {
		change func(*engine.Request)
		want   []string
	}{
		"a replacement":    {func(*engine.Request) {}, []string{"replace " + mapType + " orders metadata.name"}},
		"after a refresh":  {func(r *engine.Request) { r.Refresh = true }, []string{"replace " + mapType + " orders metadata.name"}},
		"expected changes": {func(r *engine.Request) { r.Options.ExpectNoChanges, r.Options.ContinueOnError = true, true }, []string{"replace " + mapType + " orders metadata.name"}},
		"a deletion": {func(r *engine.Request) {
			r.Program = []byte(strings.Replace(string(r.Program), "  orders:\n    type: "+mapType, "  login2:\n    type: kubernetes:core/v1:Secret", 1))
			r.Program = []byte(strings.Replace(string(r.Program), "      data: {colour: red}\n", "", 1))
		}, []string{"create kubernetes:core/v1:Secret login2", "delete " + mapType + " orders"}},
		"a new name in the program": {func(r *engine.Request) {
			r.Program = []byte(strings.Replace(strings.Replace(string(r.Program), "  orders:", "  moved:", 1), "name: other,", "name: orders,", 1))
		}, []string{"create " + mapType + " moved", "delete " + mapType + " orders"}},
		"a destroy": {func(r *engine.Request) {
			r.Operation, r.Program = engine.Destroy, nil
			r.Options.ContinueOnError = true
		}, []string{"delete " + mapType + " orders", "delete kubernetes:core/v1:Secret login"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &asked{answer: errors.New("no")}
			req := request(replaced, a)
			tc.change(&req)
			if _, err := f.run(t, req); !errors.Is(err, a.answer) {
				t.Fatalf("error %v, want that of the caller", err)
			}
			got := a.steps(t)
			if len(got) == 2 && got[0] > got[1] {
				got[0], got[1] = got[1], got[0]
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("the engine asks about %q, want %q", got, tc.want)
			}
			if read() != before || !reflect.DeepEqual(maps(), []string{"orders"}) {
				t.Errorf("the run has changed the state or the maps %v", maps())
			}
			plan := request(replaced, a)
			plan.Operation = engine.Plan
			if want := f.mustRun(t, plan).Plan.State; a.plans[0].State != want || want == "" {
				t.Errorf("the digest of the state is %q, and that of a plan %q", a.plans[0].State, want)
			}
		})
	}

	// With an alias, the resource keeps its object.
	moved := &asked{}
	f.mustRun(t, request(strings.Replace(withMap, "  orders:\n", "  moved:\n    options: {aliases: [{name: orders}]}\n", 1), moved))
	if got := moved.steps(t); len(got) != 0 || !reflect.DeepEqual(maps(), []string{"orders"}) {
		t.Errorf("a new name with an alias does %q to the maps %v", got, maps())
	}
	yes := &asked{}
	gone := request(replaced, yes)
	gone.Operation, gone.Program = engine.Destroy, nil
	f.mustRun(t, gone)
	if len(yes.plans) != 1 || len(maps()) != 0 {
		t.Errorf("after approval, the engine has asked %d times and left %v", len(yes.plans), maps())
	}
	f.mustRun(t, gone)
	if len(yes.plans) != 1 {
		t.Error("the engine asks about an empty stack")
	}
}

// dependent has a map whose name depends on another map, which is deleted before its replacement.
const dependent = `resources:
  base:
    type: ` + mapType + `
    properties: {metadata: {namespace: NAMESPACE, name: first, annotations: {pulumi.com/deletionPropagationPolicy: background}}}
    options: {deleteBeforeReplace: true}
  orders:
    type: ` + mapType + `
    properties: {metadata: {namespace: NAMESPACE, name: "${base.metadata.name}-orders", annotations: {pulumi.com/deletionPropagationPolicy: background}}}
`

// TestADeletionForAReplacementIsAskedAbout removes a map from the program whose dependency is deleted before its replacement. Pulumi deletes
// the map for that replacement, and announces no deletion of its own.
func TestADeletionForAReplacementIsAskedAbout(t *testing.T) {
	long.Test(t)
	f, c, of := kubernetesFixture(t)
	namespace := c.namespace(t)
	f.mustRun(t, of(strings.ReplaceAll(dependent, "NAMESPACE", namespace)))
	program := strings.Replace(dependent, "name: first", "name: second", 1)
	program, _, _ = strings.Cut(program, "  orders:")
	a := &asked{answer: errors.New("no")}
	req := of(strings.ReplaceAll(program, "NAMESPACE", namespace))
	req.Approve = a.approve
	if _, err := f.run(t, req); !errors.Is(err, a.answer) {
		t.Fatalf("error %v, want that of the caller", err)
	}
	if got := strings.Join(a.steps(t), ", "); !strings.Contains(got, "delete "+mapType+" orders") || !strings.Contains(got, "replace "+mapType+" base") {
		t.Errorf("the engine asks about %q", got)
	}
}

func TestAFailedPreviewFailsTheRunBeforeItBegins(t *testing.T) {
	f := newFixture(t)
	a := &asked{}
	req := f.request("variables: {a: {fn::readFile: /nowhere}}\noutputs: {a: \"${a}\"}\n")
	req.Approve = a.approve
	_, err := f.run(t, req)
	failure := (*engine.Error)(nil)
	if !errors.As(err, &failure) || failure.Began || failure.Operation != engine.Up || !strings.Contains(failure.Message, "/nowhere") || len(a.plans) != 0 {
		t.Errorf("error %+v, and %d questions", err, len(a.plans))
	}
}
