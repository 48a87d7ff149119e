package gke_test

import (
	"encoding/base64"
	"reflect"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/gke"
	"github.com/strata-platform/strata/internal/pulumitest"
)

const (
	clusterType = "gcp:container/cluster:Cluster"
	poolType    = "gcp:container/nodePool:NodePool"
	accountType = "gcp:serviceaccount/account:Account"
	memberType  = "gcp:projects/iAMMember:IAMMember"
)

// withCertificate is the kubeconfig of a cluster with a client certificate and a port of its own.
const withCertificate = `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: Y2E=
    server: https://127.0.0.1:36443
  name: strata
contexts:
- context:
    cluster: strata
    user: strata
  name: strata
current-context: strata
kind: Config
users:
- name: strata
  user:
    client-certificate-data: Y2VydA==
    client-key-data: a2V5
`

// withPlugin is the kubeconfig of a cluster on Google Cloud.
const withPlugin = `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: Y2E=
    server: https://203.0.113.7
  name: strata
contexts:
- context:
    cluster: strata
    user: strata
  name: strata
current-context: strata
kind: Config
users:
- name: strata
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1beta1
      args: null
      command: gke-gcloud-auth-plugin
      env: null
      installHint: 'install it with: gcloud components install gke-gcloud-auth-plugin'
      interactiveMode: Never
      provideClusterInfo: true
`

func encoded(text string) resource.PropertyValue {
	return resource.NewProperty(base64.StdEncoding.EncodeToString([]byte(text)))
}

// serving returns an engine that answers like a cluster with that endpoint; cert and key may be empty.
func serving(endpoint, cert, key string) *pulumitest.Engine {
	return &pulumitest.Engine{Outputs: map[string]func(pulumi.MockResourceArgs) resource.PropertyMap{
		accountType: func(args pulumi.MockResourceArgs) resource.PropertyMap {
			return resource.PropertyMap{"email": resource.NewProperty(args.Inputs["accountId"].StringValue() + "@acme.iam.gserviceaccount.com")}
		},
		clusterType: func(args pulumi.MockResourceArgs) resource.PropertyMap {
			auth := args.Inputs["masterAuth"].ObjectValue().Copy()
			auth["clusterCaCertificate"] = encoded("ca")
			auth["clientCertificate"] = encoded(cert)
			auth["clientKey"] = encoded(key)
			return resource.PropertyMap{
				"endpoint": resource.NewProperty(endpoint), "masterVersion": resource.NewProperty("1.36.3-gke.100"),
				"masterAuth": resource.MakeSecret(resource.NewProperty(auth)),
			}
		},
	}}
}

func run(engine *pulumitest.Engine, args *gke.ClusterArgs) error {
	return engine.Run("proj", "dev", func(ctx *pulumi.Context) error {
		cluster, err := gke.NewCluster(ctx, "strata", args)
		if err != nil {
			return err
		}
		ctx.Export("kubeconfig", cluster.Kubeconfig)
		ctx.Export("caCertificate", cluster.CACertificate)
		ctx.Export("workloadPool", cluster.WorkloadPool)
		ctx.Export("version", cluster.Version)
		ctx.Export("controlPlaneAddresses", cluster.ControlPlaneAddresses)
		return nil
	})
}

func given() *gke.ClusterArgs {
	return &gke.ClusterArgs{Name: pulumi.String("strata"), Project: pulumi.String("acme"), Location: pulumi.String("europe-west1"), NodeCount: pulumi.Int(1)}
}

func TestAClusterOnGoogleCloudIsProtectedAndReachedThroughThePlugin(t *testing.T) {
	engine := serving("203.0.113.7", "", "")
	args := given()
	args.NodeServiceAccount = pulumi.String("nodes@acme.iam.gserviceaccount.com")
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	component := engine.Get(t, gke.Type, "strata")
	cluster := engine.Get(t, clusterType, "strata-cluster")
	pool := engine.Get(t, poolType, "strata-nodes")
	const urns = "urn:pulumi:dev::proj::strata:index:GKE$"
	for want, child := range map[string]pulumitest.Resource{
		urns + clusterType + "::strata-cluster": cluster, urns + poolType + "::strata-nodes": pool,
	} {
		if child.URN != want || child.Parent != component.URN {
			t.Errorf("%s is a child of %s, want %s below %s", child.URN, child.Parent, want, component.URN)
		}
	}
	if !pool.DependsOn(cluster) {
		t.Error("the node pool does not depend on the cluster")
	}
	for _, protected := range []pulumitest.Resource{cluster, pool} {
		if !protected.Protect {
			t.Errorf("the engine would delete %s", protected.Name)
		}
	}
	for path, want := range map[string]any{
		"nodeConfig.serviceAccount": "nodes@acme.iam.gserviceaccount.com",
		"deletionProtection":        true, "removeDefaultNodePool": true, "networkingMode": "VPC_NATIVE", "enableShieldedNodes": true,
		"releaseChannel.channel": "REGULAR", "workloadIdentityConfig.workloadPool": "acme.svc.id.goog",
		"masterAuth.clientCertificateConfig.issueClientCertificate": false, "location": "europe-west1",
	} {
		if got, _ := pulumitest.Plain(t, cluster.Inputs, path); got != want {
			t.Errorf("cluster's %s is %v, want %v", path, got, want)
		}
	}
	for path, want := range map[string]any{
		"nodeCount": 1.0, "nodeConfig.machineType": "e2-standard-4", "nodeConfig.workloadMetadataConfig.mode": "GKE_METADATA",
		"nodeConfig.serviceAccount": "nodes@acme.iam.gserviceaccount.com", "management.autoUpgrade": true,
		"nodeConfig.shieldedInstanceConfig.enableSecureBoot": true, "nodeConfig.shieldedInstanceConfig.enableIntegrityMonitoring": true,
		"management.autoRepair": true, "upgradeSettings.strategy": "SURGE", "upgradeSettings.maxSurge": 1.0, "upgradeSettings.maxUnavailable": 0.0,
	} {
		if got, _ := pulumitest.Plain(t, pool.Inputs, path); got != want {
			t.Errorf("node pool's %s is %v, want %v", path, got, want)
		}
	}
	if output := engine.Output(t, "kubeconfig"); output.Value != withPlugin || !output.Secret {
		t.Errorf("kubeconfig (secret: %v) is\n%s\nwant\n%s", output.Secret, output.Value, withPlugin)
	}
	if output := engine.Output(t, "caCertificate"); output.Secret {
		t.Error("the CA certificate is a secret, although everybody may know it")
	}
	if output := engine.Output(t, "version"); output.Value != "1.36.3-gke.100" {
		t.Errorf("the version is %v", output.Value)
	}
	if output := engine.Output(t, "workloadPool"); output.Value != "acme.svc.id.goog" {
		t.Errorf("workload pool is %v", output.Value)
	}
}

func TestNodesRunUnderAnAccountWithTheirRoles(t *testing.T) {
	engine := serving("203.0.113.7", "", "")
	if err := run(engine, given()); err != nil {
		t.Fatal(err)
	}
	const email = "strata-nodes@acme.iam.gserviceaccount.com"
	for _, nodes := range []pulumitest.Resource{engine.Get(t, clusterType, "strata-cluster"), engine.Get(t, poolType, "strata-nodes")} {
		if got, _ := pulumitest.Plain(t, nodes.Inputs, "nodeConfig.serviceAccount"); got != email {
			t.Errorf("nodes of %s run as %v", nodes.Name, got)
		}
	}
	members := engine.OfType(memberType)
	if len(members) != 1 {
		t.Fatalf("the account has %d roles, want one", len(members))
	}
	for property, want := range map[string]string{"role": "roles/container.defaultNodeServiceAccount", "member": "serviceAccount:" + email} {
		if got, _ := pulumitest.Plain(t, members[0].Inputs, property); got != want {
			t.Errorf("%s is %v, want %s", property, got, want)
		}
	}
	if !engine.Get(t, accountType, "strata-nodes-account").Protect {
		t.Error("a destroy that fails at the cluster would take the nodes' account away")
	}
}

func TestAClusterThatIssuesACertificateIsReachedWithIt(t *testing.T) {
	engine := serving("127.0.0.1:36443", "cert", "key")
	lifted := false
	args := given()
	args.IssueClientCertificate, args.DeletionProtection, args.NodeCount = pulumi.Bool(true), &lifted, pulumi.Int(3)
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	if output := engine.Output(t, "kubeconfig"); output.Value != withCertificate || !output.Secret {
		t.Errorf("kubeconfig (secret: %v) is\n%s\nwant\n%s", output.Secret, output.Value, withCertificate)
	}
	cluster := engine.Get(t, clusterType, "strata-cluster")
	if got, _ := pulumitest.Plain(t, cluster.Inputs, "deletionProtection"); got != false || cluster.Protect {
		t.Errorf("deletionProtection is %v, protect %v", got, cluster.Protect)
	}
	if len(cluster.SecretOutputs) != 1 || cluster.SecretOutputs[0] != "masterAuth" {
		t.Errorf("secret outputs of the cluster are %v", cluster.SecretOutputs)
	}
}

func TestAnUnrequestedCertificateIsNotUsed(t *testing.T) {
	engine := serving("203.0.113.7", "cert", "key")
	if err := run(engine, given()); err != nil {
		t.Fatal(err)
	}
	if output := engine.Output(t, "kubeconfig"); output.Value != withPlugin {
		t.Errorf("kubeconfig is\n%s", output.Value)
	}
}

func TestACertificateThatIsMissingIsAnError(t *testing.T) {
	args := given()
	args.IssueClientCertificate = pulumi.Bool(true)
	err := run(serving("203.0.113.7", "", ""), args)
	if err == nil || !strings.Contains(err.Error(), "cluster strata issued no client certificate") {
		t.Errorf("error is %v", err)
	}
}

func TestTheAddressesOfTheControlPlane(t *testing.T) {
	for name, test := range map[string]struct {
		endpoint string
		private  map[string]any
		want     []string
	}{
		"of a public cluster with Private Service Connect": {"203.0.113.7", map[string]any{"privateEndpoint": "10.132.0.2", "publicEndpoint": "203.0.113.7"}, []string{"10.132.0.2", "203.0.113.7"}},
		"of a private cluster with peering": {"203.0.113.7", map[string]any{
			"privateEndpoint": "172.16.0.2", "publicEndpoint": "203.0.113.7", "peeringName": "gke-n0-peer"}, []string{"172.16.0.2", "203.0.113.7"}},
		"of a cluster without a public address":   {"10.132.0.2", map[string]any{"enablePrivateEndpoint": true, "privateEndpoint": "10.132.0.2"}, []string{"10.132.0.2"}},
		"of an old cluster without a private one": {"203.0.113.7", nil, []string{"203.0.113.7"}},
		"of the emulator":                         {"127.0.0.1:6443", map[string]any{"privateEndpoint": "10.96.0.1", "publicEndpoint": "127.0.0.1:6443"}, []string{"10.96.0.1"}},
		"by name":                                 {"gke-1234.europe-west1.gke.goog", nil, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			engine := serving(test.endpoint, "", "")
			answer := engine.Outputs[clusterType]
			engine.Outputs[clusterType] = func(args pulumi.MockResourceArgs) resource.PropertyMap {
				answered := answer(args)
				if test.private != nil {
					answered["privateClusterConfig"] = resource.NewPropertyValue(test.private)
				}
				return answered
			}
			if err := run(engine, given()); err != nil {
				t.Fatal(err)
			}
			if got := engine.Output(t, "controlPlaneAddresses"); !reflect.DeepEqual(got.Value, test.want) || got.Secret {
				t.Errorf("addresses (secret: %v) are %v, want %v", got.Secret, got.Value, test.want)
			}
		})
	}
}

func TestAPreviewOfAClusterPasses(t *testing.T) {
	engine := &pulumitest.Engine{Preview: true, Outputs: map[string]func(pulumi.MockResourceArgs) resource.PropertyMap{
		clusterType: func(pulumi.MockResourceArgs) resource.PropertyMap {
			unknown := resource.MakeComputed(resource.NewProperty(""))
			return resource.PropertyMap{"endpoint": unknown, "masterAuth": unknown}
		},
	}}
	args := given()
	args.IssueClientCertificate = pulumi.Bool(true)
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
}

func TestAPrivateClusterScalesByItself(t *testing.T) {
	engine := serving("10.0.0.2", "", "")
	args := given()
	args.Network, args.Subnetwork = pulumi.String("core"), pulumi.String("core-gke")
	args.Private = &gke.Private{ControlPlaneRange: pulumi.String("172.16.0.0/28"), Endpoint: pulumi.Bool(true)}
	args.AuthorizedNetworks = pulumi.ToStringArray([]string{"203.0.113.0/24", "2001:db8::/32"})
	args.NodeCount, args.Autoscaling, args.Upgrade = pulumi.Int(2), &gke.Autoscaling{Min: pulumi.Int(1), Max: pulumi.Int(5)}, &gke.Upgrade{MaxUnavailable: pulumi.Int(2)}
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	cluster, pool := engine.Get(t, clusterType, "strata-cluster"), engine.Get(t, poolType, "strata-nodes")
	for path, want := range map[string]any{
		"network": "core", "subnetwork": "core-gke", "privateClusterConfig.enablePrivateNodes": true,
		"privateClusterConfig.enablePrivateEndpoint": true, "privateClusterConfig.masterIpv4CidrBlock": "172.16.0.0/28",
		"masterAuthorizedNetworksConfig.cidrBlocks[0].cidrBlock": "203.0.113.0/24",
		"masterAuthorizedNetworksConfig.cidrBlocks[1].cidrBlock": "2001:db8::/32",
	} {
		if got, _ := pulumitest.Plain(t, cluster.Inputs, path); got != want {
			t.Errorf("cluster's %s is %v, want %v", path, got, want)
		}
	}
	for path, want := range map[string]any{
		"initialNodeCount": 2.0, "autoscaling.minNodeCount": 1.0, "autoscaling.maxNodeCount": 5.0,
		"upgradeSettings.maxSurge": 0.0, "upgradeSettings.maxUnavailable": 2.0,
	} {
		if got, _ := pulumitest.Plain(t, pool.Inputs, path); got != want {
			t.Errorf("node pool's %s is %v, want %v", path, got, want)
		}
	}
	if _, fixed := pool.Inputs["nodeCount"]; fixed {
		t.Error("a number of nodes is set, which would undo what the autoscaler does")
	}
}

func TestAnImpossibleClusterIsRefused(t *testing.T) {
	for want, edit := range map[string]func(*gke.ClusterArgs){
		"too many for the ID of the nodes' account": func(a *gke.ClusterArgs) { a.Name = pulumi.String("strata-in-the-north-of-europe") },
		"between 3 and 2 nodes is impossible":       func(a *gke.ClusterArgs) { a.Autoscaling = &gke.Autoscaling{Min: pulumi.Int(3), Max: pulumi.Int(2)} },
		"node count 1 is outside autoscaling":       func(a *gke.ClusterArgs) { a.Autoscaling = &gke.Autoscaling{Min: pulumi.Int(2), Max: pulumi.Int(5)} },
		"MaxSurge or MaxUnavailable must be above":  func(a *gke.ClusterArgs) { a.Upgrade = &gke.Upgrade{} },
		`"172.16.0.0/24" is not a range of 16`:      func(a *gke.ClusterArgs) { a.Private = &gke.Private{ControlPlaneRange: pulumi.String("172.16.0.0/24")} },
		`authorized network "203.0.113.7/24"`:       func(a *gke.ClusterArgs) { a.AuthorizedNetworks = pulumi.ToStringArray([]string{"203.0.113.7/24"}) },
		`release channel "EXTENDED" is not one of`:  func(a *gke.ClusterArgs) { a.ReleaseChannel = pulumi.String("EXTENDED") },
		`days contains "SAT"`:                       func(a *gke.ClusterArgs) { a.Maintenance = &gke.Maintenance{Days: []string{"SAT"}} },
		"below the 48 hours in 32 days":             func(a *gke.ClusterArgs) { a.Maintenance = &gke.Maintenance{Days: []string{"SA", "SU"}} },
		`start "3:00" is not a time`:                func(a *gke.ClusterArgs) { a.Maintenance = &gke.Maintenance{Start: "3:00"} },
		"hours is 2":                                func(a *gke.ClusterArgs) { a.Maintenance = &gke.Maintenance{Hours: 2} },
		"exclusions contain freeze from":            exclude("freeze", "2027-01-05T00:00:00Z", "2026-12-20T00:00:00Z", ""),
		`with scope "ALL"`:                          exclude("freeze", "2026-12-20T00:00:00Z", "2027-01-05T00:00:00Z", "ALL"),
		`exclusions contain "Freeze!"`:              exclude("Freeze!", "2026-12-20T00:00:00Z", "2027-01-05T00:00:00Z", ""),
		"is not a topic of the cluster's project":   func(a *gke.ClusterArgs) { a.NotificationTopic = pulumi.String("projects/other/topics/gke") },
		`logging component "AUDIT"`:                 func(a *gke.ClusterArgs) { a.Logging = pulumi.ToStringArray([]string{"SYSTEM_COMPONENTS", "AUDIT"}) },
		"logging lacks SYSTEM_COMPONENTS":           func(a *gke.ClusterArgs) { a.Logging = pulumi.ToStringArray([]string{"APISERVER"}) },
		`secrets key "gke"`:                         func(a *gke.ClusterArgs) { a.SecretsKey = pulumi.String("gke") },
		`security group "admins@acme.example"`:      func(a *gke.ClusterArgs) { a.SecurityGroup = pulumi.String("admins@acme.example") },
		"Subnetwork is given without Network":       func(a *gke.ClusterArgs) { a.Subnetwork = pulumi.String("core-gke") },
	} {
		args := given()
		edit(args)
		if err := run(&pulumitest.Engine{}, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q: %v", want, err)
		}
	}
}

func exclude(name, start, end, scope string) func(*gke.ClusterArgs) {
	return func(a *gke.ClusterArgs) {
		a.Maintenance = &gke.Maintenance{Exclusions: []gke.MaintenanceExclusion{{Name: name, Start: start, End: end, Scope: scope}}}
	}
}

func TestAWindowThatPassesMidnightEndsOnTheNextDay(t *testing.T) {
	engine := serving("203.0.113.7", "", "")
	args := given()
	reviewed(args)
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]any{
		"maintenancePolicy.recurringWindow.startTime": "2026-01-01T22:30:00Z", "maintenancePolicy.recurringWindow.endTime": "2026-01-02T04:30:00Z",
		"maintenancePolicy.recurringWindow.recurrence":                      "FREQ=WEEKLY;BYDAY=SA,SU",
		"maintenancePolicy.maintenanceExclusions[0].exclusionOptions.scope": gke.NoMinorUpgrades,
		"notificationConfig.pubsub.enabled":                                 true, "notificationConfig.pubsub.topic": "projects/acme/topics/gke",
		"databaseEncryption.state": "ENCRYPTED", "masterAuthorizedNetworksConfig.gcpPublicCidrsAccessEnabled": false,
	} {
		if got, _ := pulumitest.Plain(t, engine.Get(t, clusterType, "strata-cluster").Inputs, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

func TestBadArgsAreRefusedAllAtOnce(t *testing.T) {
	err := run(&pulumitest.Engine{}, &gke.ClusterArgs{})
	for _, want := range []string{"name must", "project must", "location must", "node count is 0"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q: %v", want, err)
		}
	}
}
