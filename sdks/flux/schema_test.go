package flux

import (
	"maps"
	"reflect"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// The properties in the schema of github.com/oun/pulumi-flux v1.0.1 (provider/cmd/pulumi-resource-flux/schema.json), and the
// properties that this package adds.
var (
	bootstrapInputs = map[string]string{
		"clusterDomain": "string", "components": "[]string", "componentsExtras": "[]string", "disableSecretCreation": "bool",
		"imagePullSecret": "string", "interval": "string", "kustomizationOverride": "string", "logLevel": "string", "namespace": "string",
		"networkPolicy": "bool", "path": "string", "recurseSubmodules": "bool", "registry": "string", "secretName": "string",
		"timeouts": "FluxBootstrapGitTimeouts", "tolerationKeys": "[]string", "version": "string", "watchAllNamespaces": "bool",
	}
	onlyOutputs = map[string]string{"repositoryFiles": "map[string]string"}
	onlyNewer   = map[string]string{"deleteGitManifests": "bool", "embeddedManifests": "bool", "keepNamespace": "bool"}

	types = map[reflect.Type]map[string]string{
		reflect.TypeFor[FluxBootstrapGitTimeouts](): {"create": "string", "delete": "string", "read": "string", "update": "string"},
		reflect.TypeFor[ProviderGit](): {
			"authorEmail": "string", "authorName": "string", "branch": "string", "commitMessageAppendix": "string", "gpgKeyId": "string",
			"gpgKeyRing": "string", "gpgPassphrase": "string", "http": "ProviderGitHttp", "ssh": "ProviderGitSsh", "url": "string",
		},
		reflect.TypeFor[ProviderGitHttp](): {"allowInsecureHttp": "bool", "certificateAuthority": "string", "password": "string", "username": "string"},
		reflect.TypeFor[ProviderGitSsh]():  {"password": "string", "privateKey": "string", "username": "string"},
		reflect.TypeFor[ProviderKubernetes](): {
			"clientCertificate": "string", "clientKey": "string", "clusterCaCertificate": "string", "configContext": "string",
			"configContextAuthInfo": "string", "configContextCluster": "string", "configPath": "string", "configPaths": "[]string",
			"exec": "ProviderKubernetesExec", "host": "string", "insecure": "bool", "password": "string", "proxyUrl": "string",
			"token": "string", "username": "string",
		},
		reflect.TypeFor[ProviderKubernetesExec](): {"apiVersion": "string", "args": "[]string", "command": "string", "env": "map[string]string"},
		reflect.TypeFor[providerArgs]():           {"git": "ProviderGit", "kubernetes": "ProviderKubernetes"},
	}
)

func TestTheBindingsAreThoseOfThePublishedSchema(t *testing.T) {
	for typ, want := range types {
		assertProperties(t, typ, want)
	}
	inputs := maps.Clone(bootstrapInputs)
	maps.Copy(inputs, onlyNewer)
	assertProperties(t, reflect.TypeFor[fluxBootstrapGitArgs](), inputs)
	maps.Copy(inputs, onlyOutputs)
	assertProperties(t, reflect.TypeFor[FluxBootstrapGit](), inputs)
}

// TestArgsHaveTheFieldsOfTheirPlainForm finds inputs that the SDK would drop silently.
func TestArgsHaveTheFieldsOfTheirPlainForm(t *testing.T) {
	for _, args := range []pulumi.Input{
		FluxBootstrapGitArgs{}, FluxBootstrapGitTimeoutsArgs{}, ProviderArgs{}, ProviderGitArgs{}, ProviderGitHttpArgs{}, ProviderGitSshArgs{},
		ProviderKubernetesArgs{}, ProviderKubernetesExecArgs{},
	} {
		has := map[string]bool{}
		for f := range reflect.TypeOf(args).Fields() {
			has[f.Name] = true
		}
		plain := args.ElementType()
		for f := range plain.Fields() {
			if !has[f.Name] {
				t.Errorf("%T has no field %s", args, f.Name)
			}
		}
		if plain.NumField() != len(has) {
			t.Errorf("%T has %d fields, its plain form %d", args, len(has), plain.NumField())
		}
	}
}

func assertProperties(t *testing.T, typ reflect.Type, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for f := range typ.Fields() {
		if name := f.Tag.Get("pulumi"); name != "" {
			got[name] = spelled(f.Type)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("the properties of %s are\n%v, want\n%v", typ.Name(), got, want)
	}
}

// spelled returns the name of a property's type; for an output, of its element's type.
func spelled(typ reflect.Type) string {
	if output, ok := reflect.TypeAssert[pulumi.Output](reflect.Zero(typ)); ok {
		typ = output.ElementType()
	}
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	if typ.Name() != "" {
		return typ.Name()
	}
	return typ.String()
}

// recorder records the resources that a program registers.
type recorder struct{ requests []pulumi.MockResourceArgs }

func (r *recorder) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	r.requests = append(r.requests, args)
	return args.Name, args.Inputs, nil
}

func (*recorder) Call(pulumi.MockCallArgs) (resource.PropertyMap, error) { return nil, nil }

func TestResourcesCarryTheTokensAndTheAddressOfThePlugin(t *testing.T) {
	r := &recorder{}
	if err := pulumi.RunErr(func(ctx *pulumi.Context) error {
		provider, err := NewProvider(ctx, "provider", &ProviderArgs{Git: &ProviderGitArgs{Url: pulumi.String("https://git.example.com/fleet.git")}})
		if err != nil {
			return err
		}
		_, err = NewFluxBootstrapGit(ctx, "flux", &FluxBootstrapGitArgs{Timeouts: &FluxBootstrapGitTimeoutsArgs{Create: pulumi.String("5m")}}, pulumi.Provider(provider))
		return err
	}, pulumi.WithMocks("project", "stack", r)); err != nil {
		t.Fatal(err)
	}
	want := []string{"pulumi:providers:flux", "flux:index/fluxBootstrapGit:FluxBootstrapGit"}
	if len(r.requests) != len(want) {
		t.Fatalf("%d resources were registered, want %d", len(r.requests), len(want))
	}
	for i, request := range r.requests {
		rpc := request.RegisterRPC
		if request.TypeToken != want[i] || rpc.GetVersion() != Version || rpc.GetPluginDownloadURL() != "github://api.github.com/oun" {
			t.Errorf("%s is registered as %s, version %s from %s", request.Name, request.TypeToken, rpc.GetVersion(), rpc.GetPluginDownloadURL())
		}
	}
	if got := r.requests[1].Inputs["timeouts"].ObjectValue()["create"].StringValue(); got != "5m" {
		t.Errorf("the timeout is %q", got)
	}
}
