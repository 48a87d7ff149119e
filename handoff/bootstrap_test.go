package handoff_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/pulumitest"
)

const (
	stackReference = "pulumi:pulumi:StackReference"
	stack          = "organization/strata-bootstrap/dev"
)

// written returns the outputs of layer 1, changed by edit.
func written(t *testing.T, edit func(map[string]any)) resource.PropertyMap {
	t.Helper()
	engine := &pulumitest.Engine{}
	err := engine.Run(handoff.BootstrapProject, "dev", func(ctx *pulumi.Context) error {
		handoff.BootstrapOutputs{
			Project: pulumi.String("acme"), Region: pulumi.String("europe-west1"), Cluster: pulumi.String("acme/strata"),
			Kubeconfig: pulumi.String("canary-kubeconfig"), Instance: pulumi.String("strata"), Kubernetes: pulumi.String("1.36.3-gke.100"),
			Audience: pulumi.String("identitynamespace:acme"), Plans: pulumi.String("strata-plan@acme"), Addresses: pulumi.ToStringArray([]string{"10.132.0.2", "2001:db8::7"}),
			Tenants: map[string]handoff.BootstrapTenantOutputs{"web": {
				Account: pulumi.String("team-web@acme"), Backend: pulumi.String("gs://acme-web"),
				Credentials: pulumi.String("canary-key"), Passphrase: pulumi.String("canary-passphrase"),
			}},
		}.Export(ctx)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	for _, name := range []string{"handoffVersion", "project", "region", "cluster", "kubeconfig", "kubernetesVersion", "instance", "googleAudience", "planAccount", "controlPlaneAddresses", "tenants"} {
		output := engine.Output(t, name)
		values[name] = output.Value
		if output.Secret {
			values[name] = resource.MakeSecret(resource.NewPropertyValue(output.Value))
		}
	}
	if edit != nil {
		edit(values)
	}
	return resource.NewPropertyMapFromMap(values)
}

func read(outputs resource.PropertyMap, teams ...string) (*handoff.Bootstrap, error) {
	engine := &pulumitest.Engine{}
	if outputs != nil {
		engine.Read = map[string]resource.PropertyMap{stackReference: {
			"name": resource.NewProperty(stack), "outputs": resource.NewProperty(outputs),
		}}
	}
	var got *handoff.Bootstrap
	err := engine.Run("strata-platform", "dev", func(ctx *pulumi.Context) error {
		var err error
		got, err = handoff.ReadBootstrap(ctx, stack, teams)
		return err
	})
	return got, err
}

func TestLayerTwoReadsTheContextOfLayerOne(t *testing.T) {
	got, err := read(written(t, nil), "web")
	if err != nil {
		t.Fatal(err)
	}
	want := &handoff.Bootstrap{
		Project: "acme", Region: "europe-west1", Cluster: "acme/strata", Kubeconfig: "canary-kubeconfig", Kubernetes: "1.36.3-gke.100", Instance: "strata",
		Audience: "identitynamespace:acme", Plans: "strata-plan@acme", Addresses: []netip.Addr{netip.MustParseAddr("10.132.0.2"), netip.MustParseAddr("2001:db8::7")},
		Tenants: map[string]handoff.BootstrapTenant{
			"web": {Account: "team-web@acme", Backend: "gs://acme-web", Credentials: "canary-key", Passphrase: "canary-passphrase"},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Error("the context that layer 2 reads differs from the one that layer 1 wrote")
	}
	if printed := fmt.Sprintf("%+v", *got); strings.Contains(printed, "canary") {
		t.Errorf("the context prints a secret: %s", printed)
	}
}

func TestTheContextOfAnOlderStrataHasNoVersionOfKubernetesAndNoAddresses(t *testing.T) {
	got, err := read(written(t, func(v map[string]any) {
		delete(v, "kubernetesVersion")
		delete(v, "planAccount")
		delete(v, "googleAudience")
		delete(v, "controlPlaneAddresses")
	}), "web")
	if err != nil || got.Kubernetes+got.Audience+got.Plans != "" || got.Addresses != nil {
		t.Errorf("the version is %q, the audience %q, the account of plans %q, the addresses are %v: %v", got.Kubernetes, got.Audience, got.Plans, got.Addresses, err)
	}
}

func TestReadBootstrapRefuses(t *testing.T) {
	secret := func(value any) any { return resource.MakeSecret(resource.NewPropertyValue(value)) }
	for name, test := range map[string]struct {
		edit func(map[string]any)
		want []string
	}{
		"a stack that was never deployed": {func(v map[string]any) { clear(v) }, []string{"handoffVersion is missing"}},
		"a version that is too old":       {func(v map[string]any) { v["handoffVersion"] = 1 }, []string{"handoffVersion is 1, too old"}},
		"a version that is no number":     {func(v map[string]any) { v["handoffVersion"] = "1" }, []string{"handoffVersion is not a number"}},
		"a version between two":           {func(v map[string]any) { v["handoffVersion"] = 1.5 }, []string{"handoffVersion is not a whole number"}},
		"fields that are missing": {
			func(v map[string]any) { delete(v, "project"); delete(v, "kubeconfig") },
			[]string{"project is missing", "kubeconfig is missing"},
		},
		"a field that is empty":                   {func(v map[string]any) { v["instance"] = "" }, []string{"instance is empty"}},
		"a version of Kubernetes that is no text": {func(v map[string]any) { v["kubernetesVersion"] = 1.36 }, []string{"kubernetesVersion is not a string"}},
		"addresses that are no list":              {func(v map[string]any) { v["controlPlaneAddresses"] = "10.132.0.2" }, []string{"controlPlaneAddresses is not a list"}},
		"addresses of no control plane": {
			func(v map[string]any) {
				v["controlPlaneAddresses"] = []any{"10.132.0.2", "0.0.0.0/0", "169.254.169.254", "127.0.0.1", "::ffff:127.0.0.1", "0.0.0.0", "fe80::1%eth0", "224.0.0.1", 7, "gke.example.com"}
			},
			[]string{
				"[1] is not the IP address", "[2] is not", "[3] is not", "[4] is not", "[5] is not", "[6] is not", "[7] is not", "[8] is not", "[9] is not",
			},
		},
		"a field of another type":         {func(v map[string]any) { v["region"] = 7 }, []string{"region is not a string"}},
		"a kubeconfig in plain text":      {func(v map[string]any) { v["kubeconfig"] = "canary" }, []string{"kubeconfig is in plain text"}},
		"tenants in plain text":           {func(v map[string]any) { v["tenants"] = map[string]any{} }, []string{"tenants is in plain text"}},
		"tenants that are a list":         {func(v map[string]any) { v["tenants"] = secret([]any{"canary"}) }, []string{"tenants is not a map"}},
		"a team that layer 1 knows not":   {func(v map[string]any) { v["tenants"] = secret(map[string]any{"api": "canary"}) }, []string{"tenants.web is missing (the context contains: api)"}},
		"a team whose fields are missing": {func(v map[string]any) { v["tenants"] = secret(map[string]any{"web": map[string]any{}}) }, []string{"tenants.web.account is missing", "tenants.web.backend is missing", "tenants.web.credentials is missing", "tenants.web.passphrase is missing"}},
		"a team whose fields are malformed": {
			func(v map[string]any) {
				v["tenants"] = secret(map[string]any{"web": map[string]any{"account": 7, "backend": "", "credentials": []any{"canary"}, "passphrase": ""}})
			},
			[]string{"tenants.web.account is not a string", "tenants.web.backend is empty", "tenants.web.credentials is not a string", "tenants.web.passphrase is empty"},
		},
		"a provider that is no text": {
			func(v map[string]any) {
				v["tenants"] = secret(map[string]any{"web": map[string]any{"account": "a", "backend": "b", "credentials": "", "passphrase": "p", "secretsProvider": 7}})
			},
			[]string{"tenants.web.secretsProvider is not a string"},
		},
		"a team that is no map":    {func(v map[string]any) { v["tenants"] = secret(map[string]any{"web": "canary"}) }, []string{"tenants.web is not a map"}},
		"outputs that are missing": {func(v map[string]any) { delete(v, "tenants"); delete(v, "cluster") }, []string{"tenants is missing", "cluster is missing"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(written(t, test.edit), "web")
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range append(test.want, "layer bootstrap", "stack "+stack, "run `strata layer up bootstrap`") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("error shows a value: %v", err)
			}
		})
	}
}

func TestAContextOfANewerStrataNamesTheUpdate(t *testing.T) {
	_, err := read(written(t, func(v map[string]any) { v["handoffVersion"] = 99 }), "web")
	if err == nil || !strings.Contains(err.Error(), "too new") || !strings.Contains(err.Error(), "update strata") {
		t.Errorf("error is %v", err)
	}
}

func TestAStackThatCannotBeReadIsAnError(t *testing.T) {
	_, err := read(nil, "web")
	if err == nil || !strings.Contains(err.Error(), stack) {
		t.Errorf("error is %v", err)
	}
}

func TestTheContextOfATenantKeepsSecretsInSecretFields(t *testing.T) {
	engine := &pulumitest.Engine{}
	err := engine.Run("proj", "dev", func(ctx *pulumi.Context) error {
		tenant := handoff.Tenant{
			BackendURL: pulumi.String("gs://b"), Passphrase: pulumi.String("p"), GoogleCredentials: pulumi.String("c"),
			Project: pulumi.String("acme"), Region: pulumi.String("r"), Instance: pulumi.String("strata"),
		}
		ctx.Export("secret", tenant.SecretData())
		ctx.Export("config", tenant.ConfigData())
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	secret, config := engine.Output(t, "secret"), engine.Output(t, "config")
	if !secret.Secret || config.Secret {
		t.Errorf("the Secret's data is secret: %v, the ConfigMap's: %v", secret.Secret, config.Secret)
	}
	want := map[string]string{
		"PULUMI_BACKEND_URL": "gs://b", "PULUMI_CONFIG_PASSPHRASE": "p", "GOOGLE_CREDENTIALS": "c", "GOOGLE_PROJECT": "acme", "GOOGLE_REGION": "r",
	}
	if !reflect.DeepEqual(secret.Value, want) {
		t.Errorf("the Secret's data is %v, want %v", secret.Value, want)
	}
	if want := map[string]string{"handoffVersion": "1", "project": "acme", "region": "r", "instance": "strata"}; !reflect.DeepEqual(config.Value, want) {
		t.Errorf("the ConfigMap's data is %v, want %v", config.Value, want)
	}
}
