package fluxcd

import (
	"maps"
	"reflect"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func TestNewSyncAppliesASourceUnderAnAccount(t *testing.T) {
	got, err := run(t, func(ctx *pulumi.Context, cluster pulumi.ResourceOption) error {
		source := fakeSource()
		first, err := NewSync(ctx, "infra", &SyncArgs{
			Namespace: team, Source: source, ServiceAccount: pulumi.String("web"), Path: pulumi.String("./infra"),
		}, cluster)
		if err != nil {
			return err
		}
		_, err = NewSync(ctx, "app", &SyncArgs{
			Namespace:       team,
			Source:          source,
			ServiceAccount:  pulumi.String("web"),
			Wait:            true,
			KeepRemoved:     true,
			Timeout:         pulumi.String("2m"),
			RetryInterval:   pulumi.String("1s"),
			TargetNamespace: team,
			Components:      []string{"../artifact"},
			Patches:         []Patch{{Kind: "Kustomization", Name: "operator", Operations: "[]"}},
			DependsOn:       []*Sync{first},
			HealthChecks:    []HealthCheck{{APIVersion: "example.com/v1", Kind: "Widget", Current: "has(status.done)"}},
		}, cluster)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	assertGraph(t, got, map[string]string{
		"infra":               syncType,
		"infra-kustomization": "kubernetes:kustomize.toolkit.fluxcd.io/v1:Kustomization in infra",
		"app":                 syncType,
		"app-kustomization":   "kubernetes:kustomize.toolkit.fluxcd.io/v1:Kustomization in app",
	})
	assertDependsOn(t, got["app-kustomization"], "infra-kustomization")
	assertDeletedInTheBackground(t, got["app-kustomization"])
	if limit := got["app-kustomization"].RegisterRPC.GetCustomTimeouts().GetDelete(); limit != syncDeleteTimeout {
		t.Errorf("the wait for the end of the sync is %q", limit)
	}
	common := map[string]any{
		"sourceRef": map[string]any{"kind": "GitRepository", "name": "web"}, "serviceAccountName": "web", "interval": "10m",
	}
	for name, own := range map[string]map[string]any{
		"infra-kustomization": {
			"path": "./infra", "prune": true, "wait": false, "retryInterval": "5s", "deletionPolicy": "WaitForTermination",
		},
		"app-kustomization": {
			"path": "./", "prune": false, "wait": true, "retryInterval": "1s", "deletionPolicy": "Orphan",
			"timeout": "2m", "targetNamespace": "team-web", "components": []any{"../artifact"},
			"patches":          []any{map[string]any{"target": map[string]any{"kind": "Kustomization", "name": "operator"}, "patch": "[]"}},
			"dependsOn":        []any{map[string]any{"name": "infra"}},
			"healthCheckExprs": []any{map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "current": "has(status.done)"}},
		},
	} {
		want := maps.Clone(common)
		maps.Copy(want, own)
		if spec := plain(got[name].Inputs)["spec"]; !reflect.DeepEqual(spec, any(want)) {
			t.Errorf("spec of %s is\n%v, want\n%v", name, spec, want)
		}
	}
}

func TestNewSyncRefuses(t *testing.T) {
	source, account := fakeSource(), pulumi.String("web")
	for name, test := range map[string]struct {
		args SyncArgs
		want string
	}{
		"no source":  {SyncArgs{Namespace: team, ServiceAccount: account}, "Namespace and Source must be given"},
		"no account": {SyncArgs{Namespace: team, Source: source}, "ServiceAccount must be given"},
		"an unknown deletion policy": {
			SyncArgs{Namespace: team, Source: source, ServiceAccount: account, DeletionPolicy: "Keep"},
			"DeletionPolicy must be WaitForTermination, Delete or Orphan",
		},
		"health checks without a wait": {
			SyncArgs{Namespace: team, Source: source, ServiceAccount: account, HealthChecks: PulumiHealth()}, "HealthChecks need Wait",
		},
		"a health check without a kind": {
			SyncArgs{Namespace: team, Source: source, ServiceAccount: account, Wait: true, HealthChecks: []HealthCheck{{}}},
			"HealthChecks[0] must have APIVersion, Kind and Current",
		},
		"two health checks of one kind": {
			SyncArgs{Namespace: team, Source: source, ServiceAccount: account, Wait: true, HealthChecks: append(PulumiHealth(), PulumiHealth()[0])},
			"HealthChecks[2] is the second one for kind Stack",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, func(ctx *pulumi.Context, _ pulumi.ResourceOption) error {
				_, err := NewSync(ctx, "web", &test.args)
				return err
			})
			assertRefused(t, err, "create sync web: ", test.want)
		})
	}
}
