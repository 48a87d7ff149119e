package engine

import (
	"encoding/json"
	"testing"
)

func TestIDsFollowFromInputs(t *testing.T) {
	const provider = "urn:pulumi:dev::shop::pulumi:providers:gcp::default::1"
	state := &deployment{project: "of-environment", resources: []resource{}}
	with := &deployment{project: "of-environment"}
	for _, d := range []struct {
		into *deployment
		json string
	}{
		{state, `[]`},
		{with, `[{"urn": "urn:pulumi:dev::shop::pulumi:providers:gcp::default", "id": "1", "inputs": {"project": "of-provider"}}]`},
	} {
		if err := json.Unmarshal([]byte(d.json), &d.into.resources); err != nil {
			t.Fatal(err)
		}
	}
	cases := map[string]struct {
		state  *deployment
		kind   string
		inputs string
		want   string
	}{
		"an object of a namespace":            {state, "kubernetes:core/v1:ConfigMap", `{"metadata": {"name": "a", "namespace": "n"}}`, "n/a"},
		"an object of the cluster":            {state, "kubernetes:core/v1:Namespace", `{"metadata": {"name": "a"}}`, "a"},
		"a release":                           {state, "kubernetes:helm.sh/v3:Release", `{"name": "a", "namespace": "n"}`, "n/a"},
		"an object whose name is secret":      {state, "kubernetes:core/v1:ConfigMap", `{"metadata": {"name": {"4dabf18193072939515e22adb298388d": "x"}}}`, ""},
		"an object whose metadata is secret":  {state, "kubernetes:core/v1:ConfigMap", `{"metadata": "x"}`, ""},
		"an object without inputs":            {state, "kubernetes:core/v1:ConfigMap", `null`, ""},
		"a database of the run's project":     {state, "gcp:sql/database:Database", `{"instance": "i", "name": "d"}`, "projects/of-environment/instances/i/databases/d"},
		"a database of the provider's":        {with, "gcp:sql/database:Database", `{"instance": "i", "name": "d"}`, "projects/of-provider/instances/i/databases/d"},
		"a database of a project of its own":  {with, "gcp:sql/database:Database", `{"instance": "i", "name": "d", "project": "p"}`, "projects/p/instances/i/databases/d"},
		"a database of an unknown instance":   {with, "gcp:sql/database:Database", `{"name": "d"}`, ""},
		"a user of any host":                  {with, "gcp:sql/user:User", `{"instance": "i", "name": "u"}`, "of-provider/i/%/u"},
		"a user of a host":                    {with, "gcp:sql/user:User", `{"instance": "i", "name": "u", "host": "h"}`, "of-provider/i/h/u"},
		"a bucket":                            {with, "gcp:storage/bucket:Bucket", `{"name": "b"}`, "b"},
		"an account":                          {with, "gcp:serviceaccount/account:Account", `{"accountId": "a"}`, "projects/of-provider/serviceAccounts/a@of-provider.iam.gserviceaccount.com"},
		"a resource of which nothing is told": {with, "aws:s3/bucket:Bucket", `{"bucket": "b"}`, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := resource{"inputs": json.RawMessage(c.inputs)}
			r.set("type", c.kind)
			r.set("provider", provider)
			if got := objectID(r, c.state.projectOf(r)); got != c.want {
				t.Errorf("ID %q, want %q", got, c.want)
			}
		})
	}
}

func TestResourceThatReplacesAnotherIsTakenOver(t *testing.T) {
	const urn = "urn:pulumi:dev::shop::kubernetes:core/v1:ConfigMap::a"
	one := func(fields string) string {
		return `{"urn": "` + urn + `", "custom": true, "type": "kubernetes:core/v1:ConfigMap"` + fields + `}`
	}
	const other = `{"urn": "urn:other"}`
	const inputs = `, "inputs": {"metadata": {"name": "new", "namespace": "n"}}`
	cases := map[string]struct{ before, after string }{
		"before the one that is still to be deleted": {
			"[" + other + "," + one(`, "id": "n/old"`) + "]",
			"[" + other + "," + one(`, "id": "n/new"`+inputs) + "," + one(`, "id": "n/old", "delete": true`) + "]",
		},
		"in place of the one that is deleted": {
			"[" + one(`, "id": "n/old", "pendingReplacement": true`) + "," + other + "]",
			"[" + other + "," + one(`, "id": "n/new"`+inputs) + "]",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			state := &deployment{}
			if err := state.decode([]byte(`{"deployment": {"resources": ` + c.before + `, "pending_operations": [{"type": "creating", "resource": ` + one(inputs) + `}]}}`)); err != nil {
				t.Fatal(err)
			}
			urns, creating := state.adopt(func(string, ...any) {}, func(string, string) string { return "" })
			if len(urns) != 1 || urns[0] != urn || !creating {
				t.Errorf("taken over %v, %v", urns, creating)
			}
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
