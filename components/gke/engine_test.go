package gke_test

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/container"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/gke"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/local/cloudtest"
	"github.com/strata-platform/strata/test/long"
)

func TestMain(m *testing.M) { cloudtest.Main(m) }

func kubeconfigOf(t *testing.T, r layers.Runner, l layers.Layer) string {
	t.Helper()
	outputs, err := r.Outputs(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := outputs["kubeconfig"]
	if !kubeconfig.Secret {
		t.Error("the kubeconfig is not a secret")
	}
	text, _ := kubeconfig.Value.(string)
	return text
}

func TestTheExampleGrowsInPlaceAndIsDestroyed(t *testing.T) {
	long.Test(t)
	cloud := cloudtest.Start(t)
	r, one, three := cloud.Runner(t, cloud.Owner), cloudtest.Program(smallCluster(1)), cloudtest.Program(smallCluster(3))
	cloudtest.Up(t, r, one)
	before := kubeconfigOf(t, r, one)
	if !strings.Contains(before, "gke-gcloud-auth-plugin") {
		t.Errorf("the kubeconfig is\n%s", before)
	}
	cloudtest.Unchanged(t, r, one)
	// The component's own input changes together with the node pool's.
	cloudtest.Changes(t, r, three, map[string]int{"update": 2})
	cloudtest.Unchanged(t, r, three)
	if after := kubeconfigOf(t, r, three); after != before {
		t.Errorf("more nodes make another kubeconfig:\n%s\nwas\n%s", after, before)
	}
	if _, err := r.Destroy(t.Context(), three, nil); err != nil {
		t.Error(err)
	}
}

func TestARenamedComponentWithAnAliasKeepsItsCluster(t *testing.T) {
	cloud := cloudtest.Start(t)
	named := func(name string, opts ...pulumi.ResourceOption) layers.Layer {
		return cloudtest.Program(func(ctx *pulumi.Context) error {
			_, err := gke.NewCluster(ctx, name, &gke.ClusterArgs{
				Name: pulumi.String("strata"), Project: pulumi.String(cloudtest.Project), Location: pulumi.String("europe-west1-b"), NodeCount: pulumi.Int(1),
			}, opts...)
			return err
		})
	}
	r := cloud.Runner(t, cloud.Owner)
	cloudtest.Up(t, r, named("old"))
	cloudtest.Unchanged(t, r, named("new", pulumi.Aliases([]pulumi.Alias{{Name: pulumi.String("old")}})))
}

// without returns an option that takes properties out of the resources of a type, as in a former version.
func without(change func(args any)) pulumi.ResourceOption {
	return pulumi.Transformations([]pulumi.ResourceTransformation{func(args *pulumi.ResourceTransformationArgs) *pulumi.ResourceTransformationResult {
		change(args.Props)
		return &pulumi.ResourceTransformationResult{Props: args.Props, Opts: args.Opts}
	}})
}

// TestAClusterOfAFormerVersionIsUpdatedInPlace creates the cluster as versions before docs/decisions/0045 did. The engine
// protects the cluster and its nodes, and would refuse to replace them.
func TestAClusterOfAFormerVersionIsUpdatedInPlace(t *testing.T) {
	cloud := cloudtest.Start(t)
	program := func(opts ...pulumi.ResourceOption) layers.Layer {
		return cloudtest.Program(func(ctx *pulumi.Context) error {
			_, err := gke.NewCluster(ctx, "strata", &gke.ClusterArgs{
				Name: pulumi.String("strata"), Project: pulumi.String(cloudtest.Project), Location: pulumi.String("europe-west1-b"), NodeCount: pulumi.Int(1),
				AuthorizedNetworks: pulumi.ToStringArray([]string{"203.0.113.0/24"}),
			}, opts...)
			return err
		})
	}
	r := cloud.Runner(t, cloud.Owner)
	former := program(without(func(args any) {
		switch args := args.(type) {
		case *container.ClusterArgs:
			args.MaintenancePolicy, args.NotificationConfig, args.LoggingConfig, args.EnableLegacyAbac = nil, nil, nil, nil
			args.MasterAuthorizedNetworksConfig.(*container.ClusterMasterAuthorizedNetworksConfigArgs).GcpPublicCidrsAccessEnabled = nil
		case *container.NodePoolArgs:
			args.NodeConfig.(*container.NodePoolNodeConfigArgs).ImageType = nil
		}
	}))
	cloudtest.Up(t, r, former)
	cloudtest.Unchanged(t, r, former)
	cloudtest.Changes(t, r, program(), map[string]int{"update": 1})
	cloudtest.Unchanged(t, r, program())
}

func TestTheSettingsOfAReviewAreChangedInPlace(t *testing.T) {
	long.Test(t)
	cloud := cloudtest.Start(t)
	program := func(edit func(*gke.ClusterArgs)) layers.Layer {
		return cloudtest.Program(func(ctx *pulumi.Context) error {
			args := &gke.ClusterArgs{
				Name: pulumi.String("strata"), Project: pulumi.String(cloudtest.Project), Location: pulumi.String("europe-west1-b"), NodeCount: pulumi.Int(1),
			}
			edit(args)
			_, err := gke.NewCluster(ctx, "strata", args)
			return err
		})
	}
	r := cloud.Runner(t, cloud.Owner)
	cloudtest.Up(t, r, program(func(*gke.ClusterArgs) {}))
	all := program(reviewed)
	cloudtest.Changes(t, r, all, map[string]int{"update": 1})
	cloudtest.Unchanged(t, r, all)
}

// reviewed sets every optional setting of a security review.
func reviewed(args *gke.ClusterArgs) {
	args.Maintenance = &gke.Maintenance{Start: "22:30", Hours: 6, Days: []string{"SA", "SU"}, Exclusions: []gke.MaintenanceExclusion{
		{Name: "christmas", Start: "2026-12-20T00:00:00Z", End: "2027-01-05T00:00:00Z", Scope: gke.NoMinorUpgrades},
	}}
	args.NotificationTopic = pulumi.Sprintf("projects/%s/topics/gke", args.Project)
	args.Logging = pulumi.ToStringArray(gke.Loggers())
	args.SecretsKey = pulumi.String("projects/keys/locations/europe-west1/keyRings/gke/cryptoKeys/secrets")
	args.SecurityGroup = pulumi.String("gke-security-groups@acme.example")
	args.BinaryAuthorization, args.IntranodeVisibility = true, pulumi.Bool(true)
	args.AuthorizedNetworks = pulumi.ToStringArray([]string{"203.0.113.0/24"})
}

func TestAProtectedClusterKeepsItsNodesWhenADestroyIsRefused(t *testing.T) {
	long.Test(t)
	cloud := cloudtest.Start(t)
	protected := cloudtest.Program(func(ctx *pulumi.Context) error {
		_, err := gke.NewCluster(ctx, "strata", &gke.ClusterArgs{
			Name: pulumi.String("strata"), Project: pulumi.String(cloudtest.Project), Location: pulumi.String("europe-west1-b"), NodeCount: pulumi.Int(1),
			Autoscaling: &gke.Autoscaling{Min: pulumi.Int(1), Max: pulumi.Int(3)}, Upgrade: &gke.Upgrade{MaxSurge: pulumi.Int(2), MaxUnavailable: pulumi.Int(1)},
			Private: &gke.Private{ControlPlaneRange: pulumi.String("172.16.0.0/28")}, AuthorizedNetworks: pulumi.ToStringArray([]string{"203.0.113.0/24"}),
		})
		return err
	})
	r := cloud.Runner(t, cloud.Owner)
	cloudtest.Up(t, r, protected)
	cloudtest.Unchanged(t, r, protected)
	if _, err := r.Destroy(t.Context(), protected, nil); err == nil || !strings.Contains(err.Error(), "protect") {
		t.Errorf("destroy of a protected cluster: %v", err)
	}
	cloudtest.Unchanged(t, r, protected)
}
