package settle

import (
	"encoding/json"
	"testing"
)

func TestResourceThatReplacesAnotherIsAdded(t *testing.T) {
	const urn = "urn:pulumi:dev::shop::kubernetes:core/v1:ConfigMap::a"
	one := func(fields string) string {
		return `{"urn": "` + urn + `", "custom": true, "type": "kubernetes:core/v1:ConfigMap"` + fields + `}`
	}
	const (
		other  = `{"urn": "urn:other"}`
		inputs = `, "inputs": {"metadata": {"name": "new", "namespace": "n"}}`
		added  = inputs + `, "outputs": {"metadata": {"name": "new", "namespace": "n"}}, "initErrors": ["` + NotRead + `"], "id": "n/new"`
	)
	cases := map[string]struct{ before, after string }{
		"before the one that is still to be deleted": {
			"[" + other + "," + one(`, "id": "n/old"`) + "]",
			"[" + other + "," + one(added) + "," + one(`, "id": "n/old", "delete": true`) + "]",
		},
		"in place of the one that is deleted": {
			"[" + one(`, "id": "n/old", "pendingReplacement": true`) + "," + other + "]",
			"[" + other + "," + one(added) + "]",
		},
		"in place of the one of the same name that is deleted": {
			"[" + one(`, "id": "n/new", "pendingReplacement": true`) + "]", "[" + one(added) + "]",
		},
		"never beside the same object": {"[" + one(`, "id": "n/new"`) + "]", "[" + one(`, "id": "n/new"`) + "]"},
		"never beside the same object under another URN": {
			`[{"urn": "urn:other", "type": "kubernetes:core/v1:ConfigMap", "id": "n/new"}]`,
			`[{"urn": "urn:other", "type": "kubernetes:core/v1:ConfigMap", "id": "n/new"}]`,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			state, err := parse([]byte(`{"deployment": {"resources": `+c.before+`, "pending_operations": [{"type": "creating", "resource": `+one(inputs)+`}]}}`), "")
			if err != nil {
				t.Fatal(err)
			}
			Settler{}.decide(t.Context(), state, state.objects(), state.pending[0].Resource)
			var want []resource
			if err := json.Unmarshal([]byte(c.after), &want); err != nil {
				t.Fatal(err)
			}
			if got, expected := encoded(t, state.resources), encoded(t, want); got != expected {
				t.Errorf("resources %s, want %s", got, expected)
			}
		})
	}
}

// encoded returns resources as JSON with sorted fields.
func encoded(t *testing.T, resources []resource) string {
	t.Helper()
	data, err := json.Marshal(resources)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		t.Fatal(err)
	}
	if data, err = json.Marshal(plain); err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestAStackWithoutStateIsSettled(t *testing.T) {
	for _, raw := range []string{"", "null", "{}", `{"resources": [{"urn": "a"}]}`} {
		s, err := ParseDeployment([]byte(raw))
		if err != nil || s.Interrupted() || s.Unsettled() {
			t.Errorf("%s: %v, %v", raw, s, err)
		}
	}
	if _, err := ParseDeployment([]byte("[]")); err == nil {
		t.Error("a state that is not an object was read")
	}
}

func TestAnAdoptedObjectKeepsTheFieldManagerThatCreatedIt(t *testing.T) {
	object := func(known, managers string) string {
		return `{"urn": "a", "type": "kubernetes:core/v1:ConfigMap", "outputs": {"__fieldManager": "` + known + `", "metadata": {"managedFields": [` + managers + `]}}}`
	}
	const (
		first  = `{"manager": "pulumi-kubernetes-1", "operation": "Apply"}`
		update = `{"manager": "pulumi-kubernetes-2", "operation": "Update"}`
		other  = `{"manager": "kubectl", "operation": "Apply"}`
	)
	for name, c := range map[string]struct{ resource, want string }{
		"another one":                 {object("pulumi-kubernetes-9", other+","+update+","+first), "pulumi-kubernetes-1"},
		"the same":                    {object("pulumi-kubernetes-1", first), ""},
		"one beside the state's":      {object("pulumi-kubernetes-1", `{"manager": "pulumi-kubernetes-3", "operation": "Apply"},`+first), ""},
		"none of the provider":        {object("pulumi-kubernetes-9", other+","+update), ""},
		"an object of another type":   {`{"type": "gcp:storage/bucket:Bucket", "outputs": {"__fieldManager": "x", "metadata": {"managedFields": [` + first + `]}}}`, ""},
		"an object without a manager": {`{"type": "kubernetes:core/v1:ConfigMap", "outputs": {"metadata": {"managedFields": [` + first + `]}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := ParseDeployment([]byte(`{"resources": [` + c.resource + `]}`))
			if err != nil {
				t.Fatal(err)
			}
			if s.Unsettled() != (c.want != "") || s.own() != (c.want != "") {
				t.Errorf("unsettled %v, want the manager %q", s.Unsettled(), c.want)
			}
			var outputs map[string]any
			if err := json.Unmarshal(s.resources[0]["outputs"], &outputs); err != nil {
				t.Fatal(err)
			}
			if c.want != "" && outputs[fieldManager] != c.want {
				t.Errorf("outputs %v", outputs)
			}
		})
	}
}

func FuzzState(f *testing.F) {
	for _, seed := range []string{
		`{"deployment":{"resources":[{"urn":"u","type":"t","custom":true,"outputs":{"__fieldManager":"x","metadata":{"managedFields":[{"manager":"pulumi-kubernetes-1","operation":"Apply"}]}}}],"pending_operations":[{"type":"creating","resource":{"urn":"urn:pulumi:a::b::gcp:storage/bucket:Bucket::d","type":"gcp:storage/bucket:Bucket","custom":true,"inputs":{"name":"n"}}}]}}`,
		`{}`, `null`, `{"deployment":null}`, `{"deployment":{"resources":[null]}}`, `{"deployment":{"pending_operations":[{"type":"creating","resource":null}]}}`, `{"deployment":{"resources":[{"inputs":null,"provider":"::"}]}}`,
		`{"deployment":{"resources":[{"type":"pulumi:pulumi:Stack","urn":"s"},{"type":"` + fluxType + `","initErrors":["` + NotRead + `"]}],"pending_operations":[{"type":"deleting","resource":{"urn":"s"}}]}}`,
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, destroys bool) {
		before, err := parse(data, "")
		if err != nil {
			return
		}
		stack := &fakeStack{state: data}
		if err := (Settler{Stack: stack, Destroys: destroys, Tell: func(found Finding) { _ = found.Message("a") }}).Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		after, err := parse(stack.state, "")
		if err != nil || after.Interrupted() || len(after.resources) > len(before.resources)+len(before.pending) {
			t.Errorf("it became %s (%v)", stack.state, err)
		}
		Contains(t.Context(), data, "t", "u", "")
	})
}
