package fluxcd

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd/internal/hardening"
	"github.com/strata-platform/strata/sdks/flux"
)

func minimal() *FluxArgs {
	return &FluxArgs{
		GitURL:      pulumi.String("http://127.0.0.1:3000/fleet.git"),
		GitUsername: pulumi.String("fleet"),
		GitPassword: pulumi.String(canary),
		Path:        pulumi.String("clusters/dev"),
		Kubeconfig:  pulumi.String(exampleKubeconfig),
	}
}

func TestNewFlux(t *testing.T) {
	var parents sync.Map
	got, err := run(t, func(ctx *pulumi.Context, cluster pulumi.ResourceOption) error {
		f, err := NewFlux(ctx, "flux", minimal(), cluster)
		if err != nil {
			return err
		}
		f.Namespace.ApplyT(func(ns string) string { parents.Store("namespace", ns); return ns })
		f.Version.ApplyT(func(v string) string { parents.Store("version", v); return v })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	assertGraph(t, got, map[string]string{
		"flux":             fluxType,
		"flux-namespace":   "kubernetes:core/v1:Namespace in flux",
		"flux-credentials": secretType + " in flux",
		"flux-provider":    flux.ProviderToken + " in flux",
		"flux-bootstrap":   flux.BootstrapGitToken + " in flux",

		"flux-strata": policyType + " in flux", "flux-strata-builders": policyType + " in flux", "flux-strata-fetchers": policyType + " in flux",
		"flux-strata-sources": policyType + " in flux", "flux-strata-notification": policyType + " in flux",
	})
	assertSecretOnlyMarked(t, got)

	bootstrap := got["flux-bootstrap"]
	if !strings.Contains(bootstrap.Provider, "flux-provider") {
		t.Errorf("flux-bootstrap uses provider %q", bootstrap.Provider)
	}
	for _, before := range []string{"flux-credentials", "flux-strata", "flux-strata-builders"} {
		assertDependsOn(t, bootstrap, before)
	}
	if !strings.Contains(got["flux-credentials"].Provider, "cluster") {
		t.Errorf("flux-credentials uses provider %q, not the component's", got["flux-credentials"].Provider)
	}
	in := bootstrap.Inputs.Mappable()
	for k, want := range map[string]any{
		"namespace": "flux-system", "secretName": "flux-system", "disableSecretCreation": true,
		"path": "clusters/dev", "version": DefaultVersion, "kustomizationOverride": hardening.Kustomization(Namespace, DefaultWorkers),
	} {
		if in[k] != want {
			t.Errorf("%s is %v, want %v", k, in[k], want)
		}
	}
	if _, ok := in["keepNamespace"]; ok {
		t.Error("a property that the published plugin does not know is set")
	}
	for k, want := range map[string]string{"namespace": "flux-system", "version": DefaultVersion} {
		if v, _ := parents.Load(k); v != want {
			t.Errorf("output %s is %v, want %q", k, v, want)
		}
	}
}

func TestNewFluxConfiguresTheProviderFromTheKubeconfig(t *testing.T) {
	got, err := run(t, func(ctx *pulumi.Context, cluster pulumi.ResourceOption) error {
		_, err := NewFlux(ctx, "flux", minimal(), cluster)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	in := plain(got["flux-provider"].Inputs)
	cluster, _ := in["kubernetes"].(map[string]any)
	if cluster["host"] != "https://127.0.0.1:6443" || cluster["clientKey"] != canary || cluster["token"] != nil {
		t.Errorf("kubernetes is %v", slices.Sorted(maps.Keys(cluster)))
	}
	git, _ := in["git"].(map[string]any)
	http, _ := git["http"].(map[string]any)
	if git["url"] != "http://127.0.0.1:3000/fleet.git" || git["branch"] != "main" || http["allowInsecureHttp"] != true {
		t.Errorf("git is %v", slices.Sorted(maps.Keys(git)))
	}
}

func TestNewFluxReadsWithOtherCredentials(t *testing.T) {
	got, err := run(t, func(ctx *pulumi.Context, cluster pulumi.ResourceOption) error {
		args := minimal()
		args.ReadUsername, args.ReadPassword = pulumi.String("reader"), pulumi.String("read-only")
		_, err := NewFlux(ctx, "flux", args, cluster)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	data, _ := plain(got["flux-credentials"].Inputs)["stringData"].(map[string]any)
	if data["username"] != "reader" || data["password"] != "read-only" {
		t.Errorf("the cluster reads as %v", data["username"])
	}
}

func TestNewFluxRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*FluxArgs)
		want   string
	}{
		"no repository":            {func(a *FluxArgs) { a.GitURL = nil }, "GitURL must be given"},
		"no password":              {func(a *FluxArgs) { a.GitPassword = nil }, "GitUsername and GitPassword must be given"},
		"half a reader":            {func(a *FluxArgs) { a.ReadUsername = pulumi.String("x") }, "ReadUsername and ReadPassword must be given together"},
		"no way to the cluster":    {func(a *FluxArgs) { a.Kubeconfig = nil }, "one of Kubeconfig and Provider must be given"},
		"two ways to the cluster":  {func(a *FluxArgs) { a.Provider = &flux.Provider{} }, "one of Kubeconfig and Provider must be given"},
		"a kubeconfig of nonsense": {func(a *FluxArgs) { a.Kubeconfig = pulumi.String("{" + canary) }, "the kubeconfig is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, func(ctx *pulumi.Context, cluster pulumi.ResourceOption) error {
				args := minimal()
				test.change(args)
				_, err := NewFlux(ctx, "flux", args, cluster)
				return err
			})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), canary) {
				t.Errorf("error is %v, want %q", err, test.want)
			}
		})
	}
}

func TestIsLoopback(t *testing.T) {
	for address, want := range map[string]bool{
		"http://127.0.0.1:3000/x.git": true,
		"http://127.3.2.1/x.git":      true,
		"http://[::1]:80/x.git":       true,
		"http://localhost/x.git":      true,
		"http://localhost.example/x":  false,
		"http://10.0.0.1/x.git":       false,
		"https://127.0.0.1/x.git":     false,
		"::":                          false,
	} {
		if got := isLoopback(address); got != want {
			t.Errorf("%s: %t, want %t", address, got, want)
		}
	}
}
