package pending_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/internal/pending"
)

const parent = "urn:pulumi:dev::p::pulumi:pulumi:Stack::p-dev"

// state returns a stack's state with one resource, the stack, and the given operations: type, resource type and inputs.
func state(t *testing.T, operations ...apitype.OperationV2) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(apitype.DeploymentV3{
		Manifest:          apitype.ManifestV1{Version: "v3.258.0"},
		Resources:         []apitype.ResourceV3{{URN: parent, Type: "pulumi:pulumi:Stack"}},
		PendingOperations: operations,
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func creating(typ string, inputs map[string]any) apitype.OperationV2 {
	o := apitype.OperationV2{Type: apitype.OperationTypeCreating}
	if err := json.Unmarshal([]byte(`{"custom": true, "type": "`+typ+`", "urn": "urn:pulumi:dev::p::`+typ+`::it"}`), &o.Resource); err != nil {
		panic(err)
	}
	o.Resource.Inputs, o.Resource.Parent, o.Resource.Provider = inputs, parent, "urn:pulumi:dev::p::pulumi:providers:gcp::x::1"
	return o
}

// settled parses a state, settles it, and returns it decoded as by Pulumi.
func settled(t *testing.T, raw json.RawMessage, destroyed bool) (apitype.DeploymentV3, []string) {
	t.Helper()
	s, err := pending.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	adopted, err := s.Settle(destroyed)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var d apitype.DeploymentV3
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	if len(d.PendingOperations) > 0 {
		t.Errorf("there are still %v", d.PendingOperations)
	}
	if d.Manifest.Version != "v3.258.0" {
		t.Errorf("the rest of the state did not stay as it was: %s", text)
	}
	return d, adopted
}

func TestACreationIsAdoptedByTheIDThatItsInputsTell(t *testing.T) {
	object := func(namespace, name string) map[string]any {
		return map[string]any{"metadata": map[string]any{"namespace": namespace, "name": name}}
	}
	for _, test := range []struct {
		name, typ string
		inputs    map[string]any
		want      string
	}{
		{"of a namespace", "kubernetes:core/v1:ConfigMap", object("flux-system", "context"), "flux-system/context"},
		{"of no namespace", "kubernetes:core/v1:Namespace", object("", "team-web"), "team-web"},
		{"with its metadata secret", "kubernetes:core/v1:Secret", map[string]any{"metadata": map[string]any{"4dabf18193072939515e22adb298388d": "x"}}, ""},
		{"cluster", "gcp:container/cluster:Cluster", map[string]any{"project": "p", "location": "l", "name": "c"}, "projects/p/locations/l/clusters/c"},
		{"pool of a cluster given by its link", "gcp:container/nodePool:NodePool", map[string]any{"project": "p", "location": "l", "cluster": "projects/p/locations/l/clusters/c", "name": "n"}, "projects/p/locations/l/clusters/c/nodePools/n"},
		{"account", "gcp:serviceaccount/account:Account", map[string]any{"project": "p", "accountId": "a"}, "projects/p/serviceAccounts/a@p.iam.gserviceaccount.com"},
		{"user of any host", "gcp:sql/user:User", map[string]any{"name": "u", "instance": "i"}, "u//i"},
		{"member", "gcp:projects/iAMMember:IAMMember", map[string]any{"project": "p", "role": "projects/p/roles/r", "member": "user:a@example.com"}, "p/projects/p/roles/r/user:a@example.com"},
		{"without a project of its own", "gcp:container/cluster:Cluster", map[string]any{"location": "l", "name": "c"}, ""},
		{"key", "gcp:serviceaccount/key:Key", map[string]any{"serviceAccountId": "a"}, ""},
		{"random", "random:index/randomPassword:RandomPassword", map[string]any{"length": 16}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, adopted := settled(t, state(t, creating(test.typ, test.inputs)), false)
			if test.want == "" {
				if len(adopted) > 0 || len(d.Resources) != 1 {
					t.Errorf("adopted %v: %+v", adopted, d.Resources)
				}
				return
			}
			if len(d.Resources) != 2 || string(d.Resources[1].ID) != test.want || !slices.Equal(adopted, []string{string(d.Resources[1].URN)}) {
				t.Fatalf("adopted %v: %+v", adopted, d.Resources)
			}
			if r := d.Resources[1]; r.Parent != parent || r.Provider == "" || len(r.Outputs) != len(test.inputs) {
				t.Errorf("the resource is %+v", r)
			}
		})
	}
}

func TestWhatTheStackHasAlreadyIsNotAdopted(t *testing.T) {
	o := creating("kubernetes:core/v1:Namespace", map[string]any{"metadata": map[string]any{"name": "x"}})
	raw, err := json.Marshal(apitype.DeploymentV3{
		Manifest:          apitype.ManifestV1{Version: "v3.258.0"},
		Resources:         []apitype.ResourceV3{o.Resource},
		PendingOperations: []apitype.OperationV2{o},
	})
	if err != nil {
		t.Fatal(err)
	}
	if d, adopted := settled(t, raw, false); len(adopted) > 0 || len(d.Resources) != 1 {
		t.Errorf("adopted %v: %+v", adopted, d.Resources)
	}
}

func TestOtherOperationsAreDropped(t *testing.T) {
	var operations []apitype.OperationV2
	for _, kind := range []apitype.OperationType{apitype.OperationTypeUpdating, apitype.OperationTypeDeleting, apitype.OperationTypeReading} {
		o := creating("kubernetes:core/v1:Namespace", map[string]any{"metadata": map[string]any{"name": "x"}})
		o.Type = kind
		operations = append(operations, o)
	}
	component := creating("strata:index:Hop", nil)
	component.Resource.Custom = false
	if d, adopted := settled(t, state(t, append(operations, component)...), false); len(adopted) > 0 || len(d.Resources) != 1 {
		t.Errorf("adopted %v: %+v", adopted, d.Resources)
	}
}

func TestFluxIsAdoptedOnlyToBeDestroyed(t *testing.T) {
	raw := state(t, creating("flux:index/fluxBootstrapGit:FluxBootstrapGit", map[string]any{"namespace": "flux-system"}))
	if d, adopted := settled(t, raw, false); len(adopted) > 0 || len(d.Resources) != 1 {
		t.Errorf("before up adopted %v: %+v", adopted, d.Resources)
	}
	if d, adopted := settled(t, raw, true); len(adopted) != 1 || string(d.Resources[1].ID) != "flux-system" {
		t.Errorf("before destroy adopted %v: %+v", adopted, d.Resources)
	}
}

func TestAStackWithoutStateIsNotInterrupted(t *testing.T) {
	for _, raw := range []json.RawMessage{nil, json.RawMessage("null"), state(t)} {
		s, err := pending.Parse(raw)
		if err != nil || s.Interrupted() {
			t.Errorf("%s: %v, %v", raw, s, err)
		}
	}
	if _, err := pending.Parse(json.RawMessage("[]")); err == nil {
		t.Error("a state that is no object was read")
	}
}
