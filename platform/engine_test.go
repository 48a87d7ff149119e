package platform_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/local/cloudtest"
	"github.com/strata-platform/strata/internal/local/clustertest"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/test/long"
)

func TestMain(m *testing.M) { clustertest.Main(m) }

// bootstrapped returns a layer 1 with only the outputs that layer 2 reads.
func bootstrapped(kubeconfig string) layers.Layer {
	return layers.Layer{Name: handoff.BootstrapLayer, Project: handoff.BootstrapProject, Config: auto.ConfigMap{}, Program: func(ctx *pulumi.Context) error {
		handoff.BootstrapOutputs{
			Project: pulumi.String("acme"), Region: pulumi.String("europe-west1"), Instance: pulumi.String("strata"),
			Cluster:    pulumi.String("projects/acme/locations/europe-west1/clusters/strata"),
			Kubeconfig: pulumi.ToSecret(pulumi.String(kubeconfig)).(pulumi.StringOutput),
			Tenants: map[string]handoff.BootstrapTenantOutputs{"web": {
				Account: pulumi.String("team-web@acme"), Backend: pulumi.String("gs://acme-web"),
				Credentials: pulumi.String("canary-key"), Passphrase: pulumi.String("canary-passphrase"),
			}},
		}.Export(ctx)
		return nil
	}}
}

// second returns layer 2 for the team web.
func second(t *testing.T) layers.Layer {
	t.Helper()
	config, err := platform.NewConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.Target, config.TeamsFile = "local", filepath.Join(t.TempDir(), "teams.yaml")
	config.FleetURL, config.PlatformURL = "http://127.0.0.1:1/fleet.git", "http://127.0.0.1:1/platform.git"
	config.TeamURL = "http://127.0.0.1:1/{team}.git"
	config.GitUsername, config.GitPassword = "flux", "canary-push"
	config.FleetUsername, config.FleetPassword = "reader", "canary-read"
	if err := os.WriteFile(config.TeamsFile, []byte("apiVersion: strata/v1\nkind: Teams\nteams: [{name: web}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	values, err := config.ConfigMap()
	if err != nil {
		t.Fatal(err)
	}
	return layers.Layer{Name: "platform", Project: platform.Project, Config: values, Program: platform.Program}
}

// plan collects the resources of a run by operation.
type plan struct {
	sync.Mutex
	done map[string][]string
}

func (p *plan) note(operation, resource string) {
	p.Lock()
	defer p.Unlock()
	if p.done == nil {
		p.done = map[string][]string{}
	}
	p.done[operation] = append(p.done[operation], resource)
}

// replaced returns the resources that a run replaces.
func (p *plan) replaced() []string {
	var all []string
	for operation := range maps.Keys(p.done) {
		if strings.Contains(operation, "replace") || operation == "delete" || operation == "create" {
			all = append(all, operation+" "+strings.Join(p.done[operation], ", "))
		}
	}
	return all
}

func TestLayerTwoOnARealCluster(t *testing.T) {
	long.Test(t)
	cluster := clustertest.Start(t)
	r, before := cluster.Runner(t), cluster.Objects(t)
	// Only the kubeconfig from layer 1 leads to the cluster.
	delete(r.Env, "KUBECONFIG")
	cloudtest.Up(t, r, bootstrapped(cluster.Kubeconfig(t, "127.0.0.1")))
	layer := second(t)

	var made plan
	summary, err := r.Up(t.Context(), layer, made.note)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("from empty: %s in %s of the engine", summary, summary.Engine)
	for _, resource := range made.done["create"] {
		if strings.Contains(resource, "gcp") || strings.Contains(resource, "google") {
			t.Errorf("%s: this layer has nothing to do with the cloud", resource)
		}
	}
	cloudtest.Unchanged(t, r, layer)

	t.Run("what others write into shared objects stays", func(t *testing.T) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "flux-system"}}
		err := cluster.Patch(t.Context(), namespace,
			client.RawPatch("application/merge-patch+json", []byte(`{"metadata": {"labels": {"somebody": "kept"}}}`)), client.FieldOwner("somebody"))
		if err != nil {
			t.Fatal(err)
		}
		changed := layer
		changed.Config = maps.Clone(layer.Config)
		changed.Config[platform.Project+":contact"] = auto.ConfigValue{Value: "#platform"}
		// The team's TenantPolicy and the hop guard contain the contact.
		cloudtest.Changes(t, r, changed, map[string]int{"update": 2})
		if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); err != nil {
			t.Fatal(err)
		}
		if namespace.Labels["somebody"] != "kept" || namespace.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
			t.Errorf("labels are %v", namespace.Labels)
		}
		layer = changed
	})

	t.Run("another kubeconfig for the same cluster replaces nothing", func(t *testing.T) {
		cloudtest.Up(t, r, bootstrapped(cluster.Kubeconfig(t, "localhost")))
		var planned plan
		summary, err := r.Preview(t.Context(), layer, planned.note)
		if err != nil {
			t.Fatal(err)
		}
		if again := planned.replaced(); len(again) > 0 {
			t.Errorf("it would %q", again)
		}
		if summary.Changes["update"] == 0 {
			t.Errorf("no resource uses the new kubeconfig: %s", summary)
		}
		cloudtest.Up(t, r, layer)
	})

	if _, err := r.Destroy(t.Context(), layer, nil); err != nil {
		t.Fatal(err)
	}
	if left := slices.DeleteFunc(cluster.Objects(t), func(object string) bool { return slices.Contains(before, object) }); len(left) > 0 {
		t.Errorf("the destroy left %q", left)
	}
}
