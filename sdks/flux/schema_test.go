package flux

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// packageSchema is the part of a package schema that the tests read.
type packageSchema struct {
	Name, Version string
	Types         map[string]struct{ Properties map[string]json.RawMessage }
	Provider      struct{ InputProperties map[string]json.RawMessage }
	Resources     map[string]struct {
		Properties, InputProperties map[string]json.RawMessage
		Aliases                     []struct{ Type string }
	}
	Parameterization struct {
		BaseProvider struct{ Name, Version string }
		Parameter    []byte
	}
}

func readSchema(t *testing.T) packageSchema {
	t.Helper()
	var s packageSchema
	if err := json.Unmarshal(Schema, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTheSDKHasThePropertiesOfTheSchema finds a schema that was changed without a run of the generator.
func TestTheSDKHasThePropertiesOfTheSchema(t *testing.T) {
	s := readSchema(t)
	bootstrap := s.Resources[BootstrapGitToken]
	assertProperties(t, reflect.TypeFor[bootstrapGitArgs](), bootstrap.InputProperties)
	assertProperties(t, reflect.TypeFor[BootstrapGit](), bootstrap.Properties)
	assertProperties(t, reflect.TypeFor[providerArgs](), s.Provider.InputProperties)
	for _, typ := range []reflect.Type{
		reflect.TypeFor[BootstrapGitTimeouts](), reflect.TypeFor[ProviderGit](), reflect.TypeFor[ProviderGitHttp](), reflect.TypeFor[ProviderGitSsh](),
		reflect.TypeFor[ProviderKubernetes](), reflect.TypeFor[ProviderKubernetesExec](),
	} {
		assertProperties(t, typ, s.Types["flux:index/"+typ.Name()+":"+typ.Name()].Properties)
	}
}

func assertProperties(t *testing.T, typ reflect.Type, want map[string]json.RawMessage) {
	t.Helper()
	var got []string
	for f := range typ.Fields() {
		if name := f.Tag.Get("pulumi"); name != "" {
			got = append(got, name)
		}
	}
	slices.Sort(got)
	if known := slices.Sorted(maps.Keys(want)); len(known) == 0 || !slices.Equal(got, known) {
		t.Errorf("the properties of %s are\n%v, those of the schema are\n%v: run `make generate`", typ.Name(), got, known)
	}
}

func TestTheSchemaNamesThePluginAndItsParameter(t *testing.T) {
	s := readSchema(t)
	base := s.Parameterization.BaseProvider
	if s.Name != "flux" || s.Version != Version || base.Name != Plugin || base.Version != PluginVersion {
		t.Errorf("the schema is of %s %s, served by %s %s", s.Name, s.Version, base.Name, base.Version)
	}
	if want := `{"remote":{"url":"` + Source + `","version":"` + Version + `"}}`; string(s.Parameterization.Parameter) != want {
		t.Errorf("the parameter is %s, want %s", s.Parameterization.Parameter, want)
	}
	if aliases := s.Resources[BootstrapGitToken].Aliases; len(aliases) != 1 || aliases[0].Type != FormerBootstrapGitToken {
		t.Errorf("the aliases are %v", aliases)
	}
}

// recorder records the resources that a program registers.
type recorder struct{ requests []pulumi.MockResourceArgs }

func (r *recorder) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	r.requests = append(r.requests, args)
	return args.Name, args.Inputs, nil
}

func (*recorder) Call(pulumi.MockCallArgs) (resource.PropertyMap, error) { return nil, nil }

func TestResourcesReferToTheParameterizedPackage(t *testing.T) {
	r := &recorder{}
	if err := pulumi.RunErr(func(ctx *pulumi.Context) error {
		provider, err := NewProvider(ctx, "provider", &ProviderArgs{Git: ProviderGitArgs{Url: pulumi.String("https://git.example.com/fleet.git")}})
		if err != nil {
			return err
		}
		_, err = NewBootstrapGit(ctx, "flux", &BootstrapGitArgs{Timeouts: BootstrapGitTimeoutsArgs{Create: pulumi.String("5m")}}, pulumi.Provider(provider))
		return err
	}, pulumi.WithMocks("project", "stack", r)); err != nil {
		t.Fatal(err)
	}
	want := []string{ProviderToken, BootstrapGitToken}
	if len(r.requests) != len(want) {
		t.Fatalf("%d resources were registered, want %d", len(r.requests), len(want))
	}
	for i, request := range r.requests {
		rpc := request.RegisterRPC
		if request.TypeToken != want[i] || rpc.GetPackageRef() == "" || strings.Contains(rpc.GetPluginDownloadURL(), "oun") {
			t.Errorf("%s is registered as %s of package %q from %q", request.Name, request.TypeToken, rpc.GetPackageRef(), rpc.GetPluginDownloadURL())
		}
	}
	if got := r.requests[1].Inputs["timeouts"].ObjectValue()["create"].StringValue(); got != "5m" {
		t.Errorf("the timeout is %q", got)
	}
}
