package bootstrap_test

import (
	"encoding/base64"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/internal/pulumitest"
)

const (
	clusterType  = "gcp:container/cluster:Cluster"
	poolType     = "gcp:container/nodePool:NodePool"
	instanceType = "gcp:sql/databaseInstance:DatabaseInstance"
	accountType  = "gcp:serviceaccount/account:Account"
	keyType      = "gcp:serviceaccount/key:Key"
	memberType   = "gcp:projects/iAMMember:IAMMember"
	roleType     = "gcp:projects/iAMCustomRole:IAMCustomRole"
	workloadType = "gcp:serviceaccount/iAMMember:IAMMember"
	bucketType   = "gcp:storage/bucket:Bucket"
	objectsType  = "gcp:storage/bucketIAMMember:BucketIAMMember"
	phraseType   = "random:index/randomPassword:RandomPassword"
)

func encoded(text string) resource.PropertyValue {
	return resource.NewProperty(base64.StdEncoding.EncodeToString([]byte(text)))
}

// google returns an engine that answers like Google Cloud for everything that the program reads.
func google(t *testing.T, config map[string]string) *pulumitest.Engine {
	t.Helper()
	teams := filepath.Join(t.TempDir(), "teams.yaml")
	content := "apiVersion: strata/v1\nkind: Teams\nteams:\n- name: web\n- name: api\n"
	if err := os.WriteFile(teams, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	config["teamsFile"] = teams
	return &pulumitest.Engine{Config: config, Outputs: map[string]func(pulumi.MockResourceArgs) resource.PropertyMap{
		accountType: func(args pulumi.MockResourceArgs) resource.PropertyMap {
			email := args.Inputs["accountId"].StringValue() + "@acme-dev.iam.gserviceaccount.com"
			return resource.PropertyMap{
				"email": resource.NewProperty(email), "name": resource.NewProperty("projects/acme-dev/serviceAccounts/" + email),
			}
		},
		roleType: func(args pulumi.MockResourceArgs) resource.PropertyMap {
			return resource.PropertyMap{"name": resource.NewProperty("projects/acme-dev/roles/" + args.Inputs["roleId"].StringValue())}
		},
		bucketType: func(args pulumi.MockResourceArgs) resource.PropertyMap {
			return resource.PropertyMap{"url": resource.NewProperty("gs://" + args.Inputs["name"].StringValue())}
		},
		keyType: func(pulumi.MockResourceArgs) resource.PropertyMap {
			return resource.PropertyMap{"privateKey": encoded("canary-key")}
		},
		phraseType: func(args pulumi.MockResourceArgs) resource.PropertyMap {
			return resource.PropertyMap{"result": resource.MakeSecret(resource.NewProperty("canary-" + args.Name))}
		},
		clusterType: func(args pulumi.MockResourceArgs) resource.PropertyMap {
			auth := args.Inputs["masterAuth"].ObjectValue().Copy()
			auth["clusterCaCertificate"] = encoded("ca")
			auth["clientCertificate"] = encoded("cert")
			auth["clientKey"] = encoded("canary-client-key")
			return resource.PropertyMap{"endpoint": resource.NewProperty("203.0.113.7"), "masterAuth": resource.NewProperty(auth)}
		},
	}}
}

func onGoogleCloud() map[string]string {
	return map[string]string{"project": "acme-dev"}
}

func run(engine *pulumitest.Engine) error {
	return engine.Run(bootstrap.Project, "dev", bootstrap.Program)
}

func TestOnGoogleCloudEverythingIsProtectedAndNoKeyIsMade(t *testing.T) {
	engine := google(t, onGoogleCloud())
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	cluster := engine.Get(t, clusterType, "cluster-cluster")
	instance := engine.Get(t, instanceType, "instance-instance")
	for _, protected := range []pulumitest.Resource{cluster, instance} {
		if got, _ := pulumitest.Plain(t, protected.Inputs, "deletionProtection"); got != true {
			t.Errorf("deletionProtection of %s is %v", protected.URN, got)
		}
	}
	if got, _ := pulumitest.Plain(t, cluster.Inputs, "location"); got != "europe-west1" {
		t.Errorf("the cluster is in %v, want the whole region", got)
	}
	pool := engine.Get(t, poolType, "cluster-nodes")
	if got, _ := pulumitest.Plain(t, pool.Inputs, "nodeConfig.serviceAccount"); got != "strata-nodes@acme-dev.iam.gserviceaccount.com" {
		t.Errorf("nodes run as %v", got)
	}
	if keys := engine.OfType(keyType); len(keys) != 0 {
		t.Errorf("%d keys were made, want none", len(keys))
	}
	for _, r := range engine.All() {
		if r.Custom && !r.Protect {
			t.Errorf("%s would be deleted by a destroy, which then fails at the cluster", r.URN)
		}
	}
	if config := engine.Output(t, "kubeconfig"); !config.Secret || !strings.Contains(config.Value.(string), "gke-gcloud-auth-plugin") {
		t.Errorf("the kubeconfig is secret: %v, and does not use the plugin: %v", config.Secret, config.Value)
	}
}

func TestOnlyTheOfficialTypesAreUsed(t *testing.T) {
	engine := google(t, onGoogleCloud())
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	allowed := []string{
		clusterType, poolType, instanceType, accountType, memberType, roleType, workloadType, bucketType, objectsType, phraseType,
		"strata:index:GKE", "strata:index:CloudSQL", "strata:index:Identity", "strata:index:StateBucket",
	}
	for _, r := range engine.All() {
		if !slices.Contains(allowed, r.Type) {
			t.Errorf("%s is of an unexpected type", r.URN)
		}
	}
}

func TestAnEmulatedProjectGetsKeysAndCertificates(t *testing.T) {
	config, err := bootstrap.NewConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.Project, config.Zone, config.TenantBackend = "strata-local", "europe-west1-b", "file:///home/state/teams/{team}"
	config.DeletionProtection, config.IssueClientCertificate, config.TenantKeys, config.NodeCount = false, true, true, 2
	values, err := config.ConfigMap()
	if err != nil {
		t.Fatal(err)
	}
	plain := map[string]string{}
	for key, value := range values {
		plain[strings.TrimPrefix(key, bootstrap.Project+":")] = value.Value
	}
	engine := google(t, plain)
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	cluster := engine.Get(t, clusterType, "cluster-cluster")
	for path, want := range map[string]any{
		"deletionProtection": false, "location": "europe-west1-b", "masterAuth.clientCertificateConfig.issueClientCertificate": true,
	} {
		if got, _ := pulumitest.Plain(t, cluster.Inputs, path); got != want {
			t.Errorf("the cluster's %s is %v, want %v", path, got, want)
		}
	}
	pool := engine.Get(t, poolType, "cluster-nodes")
	if got, _ := pulumitest.Plain(t, pool.Inputs, "nodeCount"); got != 2.0 {
		t.Errorf("nodeCount is %v", got)
	}
	tenants := engine.Output(t, "tenants")
	want := map[string]any{
		"web": map[string]any{
			"account": "team-web@acme-dev.iam.gserviceaccount.com", "backend": "file:///home/state/teams/web", "credentials": "canary-key",
			"passphrase": "canary-team-web-passphrase",
		},
		"api": map[string]any{
			"account": "team-api@acme-dev.iam.gserviceaccount.com", "backend": "file:///home/state/teams/api", "credentials": "canary-key",
			"passphrase": "canary-team-api-passphrase",
		},
	}
	if !reflect.DeepEqual(tenants.Value, want) || !tenants.Secret {
		t.Errorf("tenants (secret: %v) are %v, want %v", tenants.Secret, tenants.Value, want)
	}
	if n := len(engine.OfType(workloadType)); n != 3 {
		t.Errorf("%d accounts of Kubernetes may act as a Google account, want the operator's and one for each team, although the teams have keys", n)
	}
	if plans := engine.Output(t, "planAccount"); plans.Value != "strata-plan@acme-dev.iam.gserviceaccount.com" {
		t.Errorf("the account for plans is %v", plans.Value)
	}
	if got, _ := engine.Output(t, "googleAudience").Value.(string); !strings.HasPrefix(got, "identitynamespace:strata-local.svc.id.goog:https://container.googleapis.com/v1/") {
		t.Errorf("the audience is %q", got)
	}
	for _, plain := range []string{"project", "region", "cluster", "instance", "googleAudience", "planAccount"} {
		if engine.Output(t, plain).Secret {
			t.Errorf("output %s is a secret, which hides it for no reason", plain)
		}
	}
	if config := engine.Output(t, "kubeconfig"); !config.Secret {
		t.Error("the kubeconfig is not a secret")
	}
}

func TestAClusterIsPrivateAndScalesByChoice(t *testing.T) {
	config := onGoogleCloud()
	maps.Copy(config, map[string]string{
		"privateNodes": "true", "controlPlaneRange": "172.16.0.0/28", "network": "core", "subnetwork": "gke", "maxNodeCount": "3",
		"authorizedNetworks": `["203.0.113.0/24"]`, "instanceNetwork": "projects/acme-dev/global/networks/core",
		"instanceHighAvailability": "true", "instanceRequireTls": "true", "maintenanceDays": `["SA","SU"]`, "maintenanceHours": "6",
		"maintenanceExclusions": `{"b": {"start": "2026-12-20T00:00:00Z", "end": "2026-12-27T00:00:00Z"}, "a": {"start": "2026-11-20T00:00:00Z", "end": "2026-11-27T00:00:00Z"}}`,
		"notificationTopic":     "projects/acme-dev/topics/gke", "maxSurge": "2",
	})
	engine := google(t, config)
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	for _, check := range []struct {
		resource pulumitest.Resource
		want     map[string]any
	}{
		{engine.Get(t, clusterType, "cluster-cluster"), map[string]any{
			"network": "core", "subnetwork": "gke", "privateClusterConfig.enablePrivateNodes": true,
			"privateClusterConfig.enablePrivateEndpoint": false, "privateClusterConfig.masterIpv4CidrBlock": "172.16.0.0/28",
			"masterAuthorizedNetworksConfig.cidrBlocks[0].cidrBlock":   "203.0.113.0/24",
			"maintenancePolicy.recurringWindow.recurrence":             "FREQ=WEEKLY;BYDAY=SA,SU",
			"maintenancePolicy.maintenanceExclusions[0].exclusionName": "a", "maintenancePolicy.maintenanceExclusions[1].exclusionName": "b",
			"notificationConfig.pubsub.topic": "projects/acme-dev/topics/gke",
		}},
		{engine.Get(t, poolType, "cluster-nodes"), map[string]any{"autoscaling.minNodeCount": 1.0, "autoscaling.maxNodeCount": 3.0, "upgradeSettings.maxSurge": 2.0}},
		{engine.Get(t, instanceType, "instance-instance"), map[string]any{
			"settings.ipConfiguration.privateNetwork": "projects/acme-dev/global/networks/core", "settings.ipConfiguration.ipv4Enabled": false,
			"settings.availabilityType": "REGIONAL", "settings.ipConfiguration.sslMode": "ENCRYPTED_ONLY",
		}},
	} {
		for path, want := range check.want {
			if got, _ := pulumitest.Plain(t, check.resource.Inputs, path); got != want {
				t.Errorf("%s of %s is %v, want %v", path, check.resource.Name, got, want)
			}
		}
	}
}

func TestAPreviewOfTheLayerPasses(t *testing.T) {
	engine := google(t, onGoogleCloud())
	engine.Preview = true
	unknown := resource.MakeComputed(resource.NewProperty(""))
	engine.Outputs = map[string]func(pulumi.MockResourceArgs) resource.PropertyMap{
		accountType: func(pulumi.MockResourceArgs) resource.PropertyMap {
			return resource.PropertyMap{"email": unknown, "name": unknown}
		},
		roleType:   func(pulumi.MockResourceArgs) resource.PropertyMap { return resource.PropertyMap{"name": unknown} },
		phraseType: func(pulumi.MockResourceArgs) resource.PropertyMap { return resource.PropertyMap{"result": unknown} },
		clusterType: func(pulumi.MockResourceArgs) resource.PropertyMap {
			return resource.PropertyMap{"endpoint": unknown, "masterAuth": unknown}
		},
	}
	engine.Config["tenantKeys"] = "true"
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
}

const stateKeys = "gcpkms://projects/acme-dev/locations/europe-west1/keyRings/strata/cryptoKeys/team-{team}"

func TestEachTeamGetsTheUseOfItsOwnKey(t *testing.T) {
	const bindingType = "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember"
	engine := google(t, map[string]string{"project": "acme-dev", "tenantSecretsProvider": stateKeys})
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	for _, team := range []string{"web", "api"} {
		binding := engine.Get(t, bindingType, "team-"+team+"-key")
		for property, want := range map[string]string{
			"cryptoKeyId": strings.TrimPrefix(strings.ReplaceAll(stateKeys, "{team}", team), "gcpkms://"),
			"role":        "roles/cloudkms.cryptoKeyEncrypterDecrypter",
			"member":      "serviceAccount:team-" + team + "@acme-dev.iam.gserviceaccount.com",
		} {
			if got, _ := pulumitest.Plain(t, binding.Inputs, property); got != want {
				t.Errorf("%s of team %s is %v, want %s", property, team, got, want)
			}
		}
		tenants, _ := engine.Output(t, "tenants").Value.(map[string]any)
		if got := tenants[team].(map[string]any)["secretsProvider"]; got != strings.ReplaceAll(stateKeys, "{team}", team) {
			t.Errorf("team %s is handed the provider %v", team, got)
		}
	}
}

func TestInvalidConfigurationIsRejectedBeforeAnyResourceIsCreated(t *testing.T) {
	for name, test := range map[string]struct {
		config map[string]string
		want   []string
	}{
		"nothing": {map[string]string{}, []string{"project is missing"}},
		"wrong values": {
			map[string]string{
				"project": "Acme", "region": "moon", "zone": "us-east1-b", "nodeCount": "0", "releaseChannel": "NIGHTLY", "tenantBackend": "state",
			},
			[]string{`project "Acme"`, `region "moon"`, `zone "us-east1-b"`, "nodeCount is 0", `releaseChannel "NIGHTLY"`, "{team}", "is not a URL"},
		},
		"wrong networks and buckets": {
			map[string]string{
				"project": "acme-dev", "nodeCount": "3", "maxNodeCount": "2", "subnetwork": "gke", "controlPlaneRange": "172.16.0.0/28",
				"privateEndpoint": "true", "authorizedNetworks": `["home"]`, "stateBucket": "state", "tenantKeyRotation": "2",
			},
			[]string{
				"maxNodeCount is 2", "subnetwork is set without network", "controlPlaneRange is for private", "privateEndpoint is for private",
				`authorized network "home"`, `stateBucket "state" does not contain {team}`, "tenantKeyRotation is for keys",
			},
		},
		"wrong maintenance and keys": {
			map[string]string{
				"project": "acme-dev", "maintenanceStart": "night", "maintenanceDays": `["SA"]`, "maintenanceExclusions": `{"xmas": {"start": "x", "end": "y"}}`,
				"notificationTopic": "projects/other/topics/gke", "logging": `["WORKLOADS"]`, "secretsKey": "key", "securityGroup": "admins@acme.example", "maxSurge": "0",
			},
			[]string{
				`maintenanceStart "night"`, "maintenanceDays are too few", "maintenanceExclusions contain xmas", "notificationTopic: ", "logging: ", "secretsKey: ",
				"securityGroup: ", "maxSurge is 0",
			},
		},
		"keys that are none, or shared": {
			map[string]string{"project": "acme-dev", "tenantSecretsProvider": "awskms://key"},
			[]string{`tenantSecretsProvider "awskms://key" is not a key of Cloud KMS`, "does not contain {team}: teams would share a key"},
		},
		"a version of a key": {
			map[string]string{"project": "acme-dev", "tenantSecretsProvider": stateKeys + "/cryptoKeyVersions/1"}, []string{"is not a key of Cloud KMS"},
		},
		"a bucket's name that is too long for a team": {
			map[string]string{"project": "acme-dev", "stateBucket": strings.Repeat("x", 60) + "-{team}"},
			[]string{"the bucket of team web must be 3 to 63", "the bucket of team api"},
		},
		"a team with too many rights": {
			map[string]string{"project": "acme-dev", "tenantBackend": "gs://{team}", "tenantRoles": `["roles/owner"]`}, []string{"roles/owner is refused"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			engine := google(t, test.config)
			err := run(engine)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q: %v", want, err)
				}
			}
			if made := engine.All(); len(made) > 0 {
				t.Errorf("%d resources were made", len(made))
			}
		})
	}
}

func TestTheProjectFileDeclaresTheSameSettings(t *testing.T) {
	pulumitest.CheckProjectFile(t, "Pulumi.yaml", bootstrap.Project, bootstrap.Config{})
}
