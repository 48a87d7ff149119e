package gcp_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/cloud/container"
	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
	"github.com/strata-platform/strata/internal/local/plugins/gcp"
)

const (
	project     = "strata-local"
	accountType = "gcp:serviceaccount/account:Account"
	keyType     = "gcp:serviceaccount/key:Key"
	memberType  = "gcp:projects/iAMMember:IAMMember"
	actAsType   = "gcp:serviceaccount/iAMMember:IAMMember"
	bindingType = "gcp:serviceaccount/iAMBinding:IAMBinding"
	clusterType = "gcp:container/cluster:Cluster"
	poolType    = "gcp:container/nodePool:NodePool"
)

// fakeClusters creates clusters without a control plane.
type fakeClusters struct{}

func (fakeClusters) Create(context.Context, string) (container.Access, error) {
	return container.Access{Endpoint: "127.0.0.1:6443", CA: []byte("ca"), ClientCertificate: []byte("certificate"), ClientKey: []byte("key")}, nil
}
func (fakeClusters) Delete(context.Context, string) error { return nil }

// newCloud starts an emulated Google Cloud, sets the environment for its plugins and returns the project owner's
// credentials.
func newCloud(t *testing.T) string {
	t.Helper()
	return newCloudWith(t, nil)
}

// newCloudWith is newCloud with Cloud SQL, which runs in databases.
func newCloudWith(t *testing.T, databases engine.Runtime) string {
	t.Helper()
	var server *cloud.Server
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { server.ServeHTTP(w, r) }))
	t.Cleanup(front.Close)
	server, err := cloud.New(cloud.Options{Dir: t.TempDir(), BaseURL: front.URL, Clusters: fakeClusters{}, Databases: databases})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	owner, err := server.EnsureProject(project, "engineer@example.com")
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range cloud.Endpoints(front.URL) {
		t.Setenv(k, v)
	}
	t.Setenv("GOOGLE_PROJECT", project)
	t.Setenv("GOOGLE_REGION", "europe-west1")
	t.Setenv("GOOGLE_ZONE", "europe-west1-b")
	t.Setenv("GOOGLE_CREDENTIALS", string(owner))
	return string(owner)
}

// plugin is a configured plugin. The test keeps the state of its objects.
type plugin struct {
	t        *testing.T
	provider p.Provider
}

func newPlugin(t *testing.T, config property.Map) plugin {
	t.Helper()
	pl := plugin{t, gcp.Package().Provider()}
	if err := pl.provider.Configure(t.Context(), p.ConfigureRequest{Args: config}); err != nil {
		t.Fatal(err)
	}
	return pl
}

func urn(typ, name string) resource.URN {
	return resource.NewURN("dev", "test", "", tokens.Type(typ), name)
}

// object is a resource that a plugin created.
type object struct {
	typ, id       string
	inputs, state property.Map
}

// checked returns the inputs after the plugin's check.
func (pl plugin) checked(typ string, inputs, olds property.Map) property.Map {
	pl.t.Helper()
	resp, err := pl.provider.Check(pl.t.Context(), p.CheckRequest{Urn: urn(typ, "it"), Inputs: inputs, State: olds})
	if err != nil {
		pl.t.Fatal(err)
	}
	for _, f := range resp.Failures {
		pl.t.Fatalf("%s: %s", f.Property, f.Reason)
	}
	return resp.Inputs
}

// try creates an object and returns the error of the creation.
func (pl plugin) try(typ string, inputs property.Map) (object, error) {
	pl.t.Helper()
	o := object{typ: typ, inputs: pl.checked(typ, inputs, property.Map{})}
	resp, err := pl.provider.Create(pl.t.Context(), p.CreateRequest{Urn: urn(typ, "it"), Properties: o.inputs})
	o.id, o.state = resp.ID, resp.Properties
	return o, err
}

func (pl plugin) create(typ string, inputs property.Map) object {
	pl.t.Helper()
	o, err := pl.try(typ, inputs)
	if err != nil {
		pl.t.Fatal(err)
	}
	return o
}

// read returns the current object, or one without an ID if the object does not exist.
func (pl plugin) read(o object) object {
	pl.t.Helper()
	resp, err := pl.provider.Read(pl.t.Context(), p.ReadRequest{ID: o.id, Urn: urn(o.typ, "it"), Properties: o.state, Inputs: o.inputs})
	if err != nil {
		pl.t.Fatal(err)
	}
	return object{o.typ, resp.ID, resp.Inputs, resp.Properties}
}

// diff returns the kinds of the changes that new inputs cause, by path.
func (pl plugin) diff(o object, inputs property.Map) map[string]p.DiffKind {
	pl.t.Helper()
	resp, err := pl.provider.Diff(pl.t.Context(), p.DiffRequest{
		ID: o.id, Urn: urn(o.typ, "it"), State: o.state, OldInputs: o.inputs, Inputs: pl.checked(o.typ, inputs, o.inputs),
	})
	if err != nil {
		pl.t.Fatal(err)
	}
	kinds := map[string]p.DiffKind{}
	for path, d := range resp.DetailedDiff {
		kinds[path] = d.Kind
	}
	return kinds
}

func (pl plugin) update(o object, inputs property.Map) object {
	pl.t.Helper()
	inputs = pl.checked(o.typ, inputs, o.inputs)
	resp, err := pl.provider.Update(pl.t.Context(), p.UpdateRequest{
		ID: o.id, Urn: urn(o.typ, "it"), State: o.state, OldInputs: o.inputs, Inputs: inputs,
	})
	if err != nil {
		pl.t.Fatal(err)
	}
	return object{o.typ, o.id, inputs, resp.Properties}
}

func (pl plugin) remove(o object) {
	pl.t.Helper()
	err := pl.provider.Delete(pl.t.Context(), p.DeleteRequest{ID: o.id, Urn: urn(o.typ, "it"), Properties: o.state, OldInputs: o.inputs})
	if err != nil {
		pl.t.Fatal(err)
	}
}

// as returns a plugin that authenticates with a service account key that this plugin created.
func (pl plugin) as(key object) plugin {
	pl.t.Helper()
	raw, err := base64.StdEncoding.DecodeString(key.state.Get("privateKey").AsString())
	if err != nil {
		pl.t.Fatal(err)
	}
	return newPlugin(pl.t, props("credentials", property.New(string(raw)).WithSecret(true)))
}

// props returns properties from alternating keys and values.
func props(kv ...any) property.Map {
	m := map[string]property.Value{}
	for i := 0; i < len(kv); i += 2 {
		switch v := kv[i+1].(type) {
		case property.Value:
			m[kv[i].(string)] = v
		case property.Map:
			m[kv[i].(string)] = property.New(v)
		case []string:
			var list []property.Value
			for _, e := range v {
				list = append(list, property.New(e))
			}
			m[kv[i].(string)] = property.New(list)
		default:
			value, err := property.Any(v)
			if err != nil {
				panic(err)
			}
			m[kv[i].(string)] = value
		}
	}
	return property.NewMap(m)
}
