package settle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// fakeStack is a stack whose objects exist by their IDs. Its refreshes treat the state as Pulumi does.
type fakeStack struct {
	state  []byte
	exists map[string]bool

	// calls are the calls of the settler. If there are as many as fail, if not zero, the last one fails.
	calls []string
	fail  int
}

var errKilled = errors.New("killed")

func (f *fakeStack) call(text string) error {
	if f.calls = append(f.calls, text); len(f.calls) == f.fail {
		return errKilled
	}
	return nil
}

func (f *fakeStack) Export(context.Context) ([]byte, error) { return f.state, f.call("export") }

func (f *fakeStack) Import(_ context.Context, state []byte) error {
	f.state = state
	return f.call("import")
}

func (f *fakeStack) Refresh(_ context.Context, urns []string) error {
	if err := f.call("refresh " + strings.Join(urns, " ")); err != nil {
		return err
	}
	s, err := parse(f.state, "")
	if err != nil {
		return err
	}
	for _, urn := range urns {
		if !s.Has(urn) {
			return fmt.Errorf("no resource %s", urn)
		}
	}
	s.resources = slices.DeleteFunc(s.resources, func(r resource) bool {
		if !slices.Contains(urns, r.text("urn")) || !r.yes("custom") {
			return false
		}
		delete(r, "initErrors")
		r["outputs"] = json.RawMessage(`{"read": true}`)
		return !f.exists[r.text("id")]
	})
	pending := slices.DeleteFunc(s.pending, func(op operation) bool { return op.Type != opCreating })
	if f.state, err = s.encode(); err != nil || len(pending) == 0 {
		return err
	}
	s.inner["pending_operations"], _ = json.Marshal(pending)
	s.whole["deployment"], _ = json.Marshal(s.inner)
	f.state, err = json.Marshal(s.whole)
	return err
}

const (
	stackURN = "urn:pulumi:dev::p::pulumi:pulumi:Stack::p-dev"
	stackRes = `{"urn": "` + stackURN + `", "type": "` + stackType + `"}`
)

// res returns a custom resource called after its type, with more fields.
func res(typ, fields string) string {
	return `{"custom": true, "type": "` + typ + `", "urn": "` + urnOf(typ) + `", ` + fields + `, "parent": "` + stackURN + `"}`
}

func urnOf(typ string) string { return "urn:pulumi:dev::p::" + typ + "::it" }

func pending(kind, resource string) string {
	return `{"type": "` + kind + `", "resource": ` + resource + `}`
}

// stateOf returns a state with a stack, resources and operations.
func stateOf(resources []string, operations ...string) []byte {
	return fmt.Appendf(nil, `{"version": 3, "deployment": {"manifest": {"version": "v3.258.0"}, "resources": [%s], "pending_operations": [%s]}}`,
		strings.Join(append([]string{stackRes}, resources...), ","), strings.Join(operations, ","))
}

// result returns a stack's resources by their types, without the stack itself.
func (f *fakeStack) result(t *testing.T) map[string]resource {
	t.Helper()
	s, err := parse(f.state, "")
	if err != nil {
		t.Fatal(err)
	}
	if s.Interrupted() {
		t.Errorf("operations are still pending: %v", s.pending)
	}
	if string(s.inner["manifest"]) != `{"version":"v3.258.0"}` && string(s.inner["manifest"]) != `{"version": "v3.258.0"}` {
		t.Errorf("the rest of the state did not stay as it was: %s", f.state)
	}
	found := map[string]resource{}
	for _, r := range s.resources {
		if r.text("type") != stackType {
			found[r.text("type")] = r
		}
	}
	return found
}

const (
	configMap = "kubernetes:core/v1:ConfigMap"
	objectA   = `"inputs": {"metadata": {"namespace": "n", "name": "a"}}`
	bucket    = "gcp:storage/bucket:Bucket"
)

func TestCreationsAreAdoptedIfTheObjectExists(t *testing.T) {
	for name, c := range map[string]struct {
		exists, held bool
		typ, inputs  string
		destroys     bool
		adopted      bool
		outcome      []Outcome
	}{
		"an object that exists":                 {exists: true, typ: configMap, inputs: objectA, adopted: true, outcome: []Outcome{Adopted}},
		"an object that does not exist":         {typ: configMap, inputs: objectA, outcome: []Outcome{Adopted}},
		"before a destroy":                      {exists: true, typ: configMap, inputs: objectA, destroys: true, adopted: true, outcome: []Outcome{Adopted}},
		"one that never existed before destroy": {typ: configMap, inputs: objectA, destroys: true, outcome: []Outcome{Adopted}},
		"an object of another stack":            {exists: true, held: true, typ: configMap, inputs: objectA, outcome: []Outcome{Held}},
		"an object without a known ID":          {exists: true, typ: "aws:s3/bucket:Bucket", inputs: `"inputs": {}`, outcome: []Outcome{Undecided}},
		"a random value":                        {typ: "random:index/randomPet:RandomPet", inputs: `"inputs": {}`},
		"a provider":                            {typ: "pulumi:providers:gcp", inputs: `"inputs": {}`},
		"Flux, which up creates again":          {exists: true, typ: fluxType, inputs: `"inputs": {"namespace": "a"}`},
		"Flux, which destroy deletes":           {typ: fluxType, inputs: `"inputs": {"namespace": "a"}`, destroys: true, adopted: true, outcome: []Outcome{Adopted}},
	} {
		t.Run(name, func(t *testing.T) {
			stack := &fakeStack{state: stateOf(nil, pending(opCreating, res(c.typ, c.inputs))), exists: map[string]bool{"n/a": c.exists}}
			var outcomes []Outcome
			settler := Settler{
				Stack: stack, Destroys: c.destroys,
				Holder: func(context.Context, string, string) string {
					if c.held {
						return "team-api"
					}
					return ""
				},
				Tell: func(found Finding) {
					if outcomes = append(outcomes, found.Outcome); found.URN != urnOf(c.typ) || c.held != (found.Holder == "team-api") {
						t.Errorf("found %+v", found)
					}
				},
			}
			if err := settler.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(outcomes, c.outcome) {
				t.Errorf("outcomes %v, want %v", outcomes, c.outcome)
			}
			r, ok := stack.result(t)[c.typ]
			if ok != c.adopted {
				t.Errorf("adopted %v: %s", ok, stack.state)
			}
			if ok && (r.text("parent") != stackURN || c.typ == configMap && (r.text("id") != "n/a" || string(r["outputs"]) != `{"read":true}`)) {
				t.Errorf("the resource is %s", stack.state)
			}
		})
	}
}

func TestOtherOperationsAreRead(t *testing.T) {
	for _, kind := range []string{"updating", "deleting", "reading"} {
		for _, exists := range []bool{true, false} {
			object := res(configMap, objectA+`, "id": "n/a"`)
			stack := &fakeStack{state: stateOf([]string{object}, pending(kind, object)), exists: map[string]bool{"n/a": exists}}
			if err := (Settler{Stack: stack}).Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			r, ok := stack.result(t)[configMap]
			if ok != exists || ok && string(r["outputs"]) != `{"read":true}` {
				t.Errorf("%s, exists %v: %s", kind, exists, stack.state)
			}
		}
	}
}

func TestFluxIsNotRefreshed(t *testing.T) {
	flux := res(fluxType, `"id": "a"`)
	stack := &fakeStack{state: stateOf([]string{flux}, pending("deleting", flux))}
	if err := (Settler{Stack: stack, Destroys: true}).Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok := stack.result(t)[fluxType]; !ok {
		t.Errorf("a half-deleted Flux is gone from the state: %v", stack.calls)
	}
}

func TestFluxThatWasAdoptedForADestroyIsCreatedAgainByUp(t *testing.T) {
	stack := &fakeStack{state: stateOf(nil, pending(opCreating, res(fluxType, `"inputs": {"namespace": "a"}`)))}
	for _, destroys := range []bool{true, false} {
		if err := (Settler{Stack: stack, Destroys: destroys}).Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, ok := stack.result(t)[fluxType]; ok != destroys {
			t.Errorf("destroys %v: in the state %v", destroys, ok)
		}
	}
}

func TestOperationsOnResourcesOutsideTheStateAreDropped(t *testing.T) {
	component := `{"type": "strata:index:Hop", "urn": "urn:pulumi:dev::p::strata:index:Hop::it"}`
	stack := &fakeStack{state: stateOf(nil, pending("deleting", res(configMap, objectA)), pending(opCreating, component))}
	if err := (Settler{Stack: stack, Tell: func(found Finding) { t.Errorf("found %+v", found) }}).Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := stack.result(t); len(found) > 0 {
		t.Errorf("the state has %v", found)
	}
}

func TestARunThatIsKilledBeforeItRecordsTheStackIsSettled(t *testing.T) {
	stack := &fakeStack{state: []byte(`{"deployment": {"manifest": {"version": "v3.258.0"}, "pending_operations": [` + pending(opCreating, stackRes) + `]}}`)}
	if err := (Settler{Stack: stack}).Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if stack.result(t); !slices.Equal(stack.calls, []string{"export", "export", "import", "export"}) {
		t.Errorf("calls %v", stack.calls)
	}
}

// TestASettlerContinuesAfterAKill kills the settler at each of its calls. The next one ends with the same state.
func TestASettlerContinuesAfterAKill(t *testing.T) {
	before := stateOf([]string{res(configMap, objectA+`, "id": "n/a"`)},
		pending("updating", res(configMap, objectA)), pending(opCreating, res(bucket, `"inputs": {"name": "b"}`)),
		pending(opCreating, res("gcp:sql/databaseInstance:DatabaseInstance", `"inputs": {"name": "gone"}`)))
	exists := map[string]bool{"n/a": true, "b": true}
	whole := &fakeStack{state: before, exists: exists}
	if err := (Settler{Stack: whole}).Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(whole.result(t)) != 2 {
		t.Fatalf("state %s", whole.state)
	}
	for fail := 1; fail <= len(whole.calls); fail++ {
		stack := &fakeStack{state: before, exists: exists, fail: fail}
		if err := (Settler{Stack: stack}).Settle(t.Context()); !errors.Is(err, errKilled) {
			t.Fatalf("killed at call %d: %v", fail, err)
		}
		if err := (Settler{Stack: stack}).Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, want := string(stack.state), string(whole.state); got != want {
			t.Errorf("killed at call %d (%s) it became %s, want %s", fail, whole.calls[fail-1], got, want)
		}
	}
}

func TestASettledStateIsOnlyRead(t *testing.T) {
	stack := &fakeStack{state: stateOf([]string{res(configMap, objectA+`, "id": "n/a"`)})}
	if err := (Settler{Stack: stack}).Settle(t.Context()); err != nil || !slices.Equal(stack.calls, []string{"export"}) {
		t.Errorf("calls %v, error %v", stack.calls, err)
	}
}

func TestTheNumberOfOperationsIsBounded(t *testing.T) {
	operation := pending(opCreating, res(configMap, objectA))
	for count, want := range map[int]bool{3: false, 4: true} {
		var operations []string
		for range count {
			operations = append(operations, operation)
		}
		var over *LimitError
		err := (Settler{Stack: &fakeStack{state: stateOf(nil, operations...)}, Limit: 3}).Settle(t.Context())
		if errors.As(err, &over) != want {
			t.Errorf("%d operations: %v", count, err)
		}
	}
}

func TestLostObjectsAreDiscardedBeforeTheirCreationsAreForgotten(t *testing.T) {
	const keyType = "gcp:serviceaccount/key:Key"
	stack := &fakeStack{
		state: stateOf([]string{res(bucket, `"id": "kept"`)},
			pending(opCreating, res(keyType, `"inputs": {"serviceAccountId": "a"}`)), pending(opCreating, res(configMap, objectA))),
		exists: map[string]bool{"n/a": true},
	}
	settler := Settler{Stack: stack, Discard: func(_ context.Context, creations []Creation, held func(string) bool) error {
		if len(creations) != 2 || creations[0].Type != keyType || creations[0].ID != "" || creations[0].Inputs["serviceAccountId"] != "a" || creations[1].ID != "n/a" {
			t.Errorf("creations %+v", creations)
		}
		if !held("kept") || held("other") {
			t.Error("held does not tell the IDs of the state")
		}
		return errKilled
	}}
	before := string(stack.state)
	if err := settler.Settle(t.Context()); !errors.Is(err, errKilled) || !strings.Contains(string(stack.state), keyType) {
		t.Errorf("error %v, state %s, before %s", err, stack.state, before)
	}
}

func TestFindingsSayWhatToDo(t *testing.T) {
	for want, found := range map[string]Finding{
		"the stack adopts the object if it exists":                             {Outcome: Adopted},
		"belongs to another stack, in team-api: the stack does not adopt it":   {Outcome: Held, Holder: "team-api"},
		"check whether an object exists that is not in the stack's state, and": {Outcome: Undecided},
	} {
		if got := found.Message("db (gcp:sql/database:Database)"); !strings.HasPrefix(got, "the creation of db (gcp:sql/database:Database) was interrupted") || !strings.Contains(got, want) {
			t.Errorf("message %q", got)
		}
	}
}
