package fluxcd

import (
	"reflect"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: strata
clusters: [{name: strata, cluster: {server: "https://127.0.0.1:6443", certificate-authority-data: Y2E=}}]
users: [{name: admin, user: {client-certificate-data: Y2VydA==, client-key-data: czNjcmV0LWNhbmFyeQ==}}]
contexts: [{name: strata, context: {cluster: strata, user: admin}}]
`

func TestSourceAndSync(t *testing.T) {
	got, err := run(t, func(ctx *pulumi.Context, cluster pulumi.ResourceOption) error {
		source, err := NewSource(ctx, "web", &SourceArgs{
			Namespace: pulumi.String("team-web"),
			URL:       pulumi.String("https://git.example.com/web.git"),
			Username:  pulumi.String("web"),
			Password:  pulumi.String(canary),
		}, cluster)
		if err != nil {
			return err
		}
		first, err := NewSync(ctx, "infra", &SyncArgs{
			Namespace: pulumi.String("team-web"), Source: source, ServiceAccount: pulumi.String("web"), Path: pulumi.String("./infra"),
		}, cluster)
		if err != nil {
			return err
		}
		_, err = NewSync(ctx, "web", &SyncArgs{
			Namespace:       pulumi.String("team-web"),
			Source:          source,
			ServiceAccount:  pulumi.String("web"),
			Wait:            true,
			KeepRemoved:     true,
			Timeout:         pulumi.String("2m"),
			TargetNamespace: pulumi.String("team-web"),
			DependsOn:       []*Sync{first},
		}, cluster)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// The mocks know resources by name alone, and a source and a sync may share theirs.
	delete(got, "web")
	assertResources(t, got, map[string]string{
		"cluster":             clusterType,
		"infra":               syncType,
		"web-credentials":     "kubernetes:core/v1:Secret",
		"web-repository":      "kubernetes:source.toolkit.fluxcd.io/v1:GitRepository",
		"infra-kustomization": "kubernetes:kustomize.toolkit.fluxcd.io/v1:Kustomization",
		"web-kustomization":   "kubernetes:kustomize.toolkit.fluxcd.io/v1:Kustomization",
	})
	assertParent(t, got["web-credentials"], sourceType+"::web")
	assertParent(t, got["web-repository"], sourceType+"::web")
	assertParent(t, got["web-kustomization"], syncType+"::web")
	assertSecretOnlyMarked(t, got)

	for _, name := range []string{"web-credentials", "web-repository", "web-kustomization"} {
		metadata, _ := plain(got[name].Inputs)["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		if annotations["pulumi.com/deletionPropagationPolicy"] != "background" {
			t.Errorf("%s is deleted in the foreground", name)
		}
	}
	for name, want := range map[string]map[string]any{
		"web-repository": {
			"url": "https://git.example.com/web.git", "interval": "1m",
			"ref": map[string]any{"branch": "main"}, "secretRef": map[string]any{"name": "web"},
		},
		"infra-kustomization": {
			"sourceRef":          map[string]any{"kind": "GitRepository", "name": "web"},
			"serviceAccountName": "web", "path": "./infra", "prune": true, "wait": false, "interval": "10m", "retryInterval": "5s",
			"deletionPolicy": "WaitForTermination",
		},
		"web-kustomization": {
			"sourceRef":          map[string]any{"kind": "GitRepository", "name": "web"},
			"serviceAccountName": "web", "path": "./", "prune": false, "wait": true, "interval": "10m", "retryInterval": "5s",
			"timeout": "2m", "targetNamespace": "team-web", "dependsOn": []any{map[string]any{"name": "infra"}},
		},
	} {
		if spec := plain(got[name].Inputs)["spec"]; !reflect.DeepEqual(spec, any(want)) {
			t.Errorf("spec of %s is\n%v, want\n%v", name, spec, want)
		}
	}
}

func TestSourceAndSyncRefuse(t *testing.T) {
	namespace := pulumi.String("team-web")
	for name, test := range map[string]struct {
		make func(ctx *pulumi.Context) error
		want string
	}{
		"a source without an address": {func(ctx *pulumi.Context) error {
			_, err := NewSource(ctx, "web", &SourceArgs{Namespace: namespace})
			return err
		}, "make source web: Namespace and URL must be given"},
		"a source with half a credential": {func(ctx *pulumi.Context) error {
			_, err := NewSource(ctx, "web", &SourceArgs{Namespace: namespace, URL: pulumi.String("x"), Username: pulumi.String("x")})
			return err
		}, "make source web: Username and Password must be given together"},
		"a sync without a source": {func(ctx *pulumi.Context) error {
			_, err := NewSync(ctx, "web", &SyncArgs{Namespace: namespace})
			return err
		}, "make sync web: Namespace and Source must be given"},
		"a sync without an account": {func(ctx *pulumi.Context) error {
			_, err := NewSync(ctx, "web", &SyncArgs{Namespace: namespace, Source: &Source{}})
			return err
		}, "make sync web: ServiceAccount must be given"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, func(ctx *pulumi.Context, _ pulumi.ResourceOption) error { return test.make(ctx) })
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want %q", err, test.want)
			}
		})
	}
}

func TestParseKubeconfig(t *testing.T) {
	exec := strings.Replace(kubeconfig, "client-certificate-data: Y2VydA==, client-key-data: czNjcmV0LWNhbmFyeQ==",
		"exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: gke-gcloud-auth-plugin, args: [a], env: [{name: K, value: V}]}", 1)
	k, err := parseKubeconfig(exec)
	if err != nil {
		t.Fatal(err)
	}
	if k.Exec == nil || k.Exec.Command != "gke-gcloud-auth-plugin" || k.Exec.Env["K"] != "V" || k.ClientKey != nil {
		t.Errorf("exec is %+v", k.Exec)
	}
	for name, test := range map[string]struct{ text, want string }{
		"no context": {strings.Replace(kubeconfig, "current-context: strata", "current-context: x", 1), `no context "x"`},
		"no user":    {strings.Replace(kubeconfig, "user: admin}", "user: x}", 1), `no user "x"`},
		"no cluster": {strings.Replace(kubeconfig, "cluster: strata,", "cluster: x,", 1), `no cluster "x"`},
		"files":      {strings.Replace(kubeconfig, "client-key-data: czNjcmV0LWNhbmFyeQ==", "client-key: /k", 1), "refers to files"},
	} {
		if _, err := parseKubeconfig(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error is %v, want %q", name, err, test.want)
		}
	}
}
