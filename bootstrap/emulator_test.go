package bootstrap_test

import (
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/sql"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	oauth "golang.org/x/oauth2/google"
	"google.golang.org/api/cloudkms/v1"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	"google.golang.org/api/sqladmin/v1beta4"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/internal/layers"
	emulator "github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/cloudtest"
	"github.com/strata-platform/strata/test/long"
)

func TestMain(m *testing.M) { cloudtest.Main(m) }

// emulatedLayer returns layer 1 for the teams web and api, configured for the emulated Google Cloud.
func emulatedLayer(t *testing.T, edit func(*bootstrap.Config)) layers.Layer {
	t.Helper()
	teams := filepath.Join(t.TempDir(), "teams.yaml")
	if err := os.WriteFile(teams, []byte("apiVersion: strata/v1\nkind: Teams\nteams:\n- name: web\n- name: api\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := bootstrap.NewConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.Project, config.Zone, config.TeamsFile = cloudtest.Project, "europe-west1-b", teams
	config.DeletionProtection, config.IssueClientCertificate, config.TenantKeys = false, true, true
	if edit != nil {
		edit(&config)
	}
	values, err := config.ConfigMap()
	if err != nil {
		t.Fatal(err)
	}
	return layers.Layer{Name: "bootstrap", Project: bootstrap.Project, Program: bootstrap.Program, Config: values}
}

// tenantLayer returns a team's program: it looks up the shared instance, and creates a database and a user.
func tenantLayer(password string) layers.Layer {
	return layers.Layer{Name: "tenant", Project: "tenant", Config: auto.ConfigMap{}, Program: func(ctx *pulumi.Context) error {
		instance, err := sql.LookupDatabaseInstance(ctx, &sql.LookupDatabaseInstanceArgs{Name: "strata"})
		if err != nil {
			return err
		}
		database, err := sql.NewDatabase(ctx, "database", &sql.DatabaseArgs{
			Name: pulumi.String("shop"), Instance: pulumi.String(instance.Name), Charset: pulumi.String("utf8mb4"),
		})
		if err != nil {
			return err
		}
		_, err = sql.NewUser(ctx, "user", &sql.UserArgs{
			Name: pulumi.String("shop"), Host: pulumi.String("%"), Instance: database.Instance, Password: pulumi.String(password),
		})
		return err
	}}
}

// tenantOf returns layer 1's output for a team.
func tenantOf(t *testing.T, r layers.Runner, l layers.Layer, team string) map[string]any {
	t.Helper()
	outputs, err := r.Outputs(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	tenants, _ := outputs["tenants"].Value.(map[string]any)
	tenant, _ := tenants[team].(map[string]any)
	if tenant == nil {
		t.Fatalf("nothing is handed on for team %s", team)
	}
	return tenant
}

func credentialsOf(t *testing.T, r layers.Runner, l layers.Layer, team string) string {
	t.Helper()
	credentials, _ := tenantOf(t, r, l, team)["credentials"].(string)
	if credentials == "" {
		t.Fatalf("team %s has no credentials", team)
	}
	return credentials
}

func TestATeamManagesDatabasesAndUsersOnly(t *testing.T) {
	long.Test(t)
	cloud := cloudtest.Start(t)
	engineer, layer := cloud.Runner(t, cloud.Owner), emulatedLayer(t, nil)
	cloudtest.Up(t, engineer, layer)
	cloudtest.Unchanged(t, engineer, layer)

	key := credentialsOf(t, engineer, layer, "web")
	team := cloud.Runner(t, key)
	cloudtest.Up(t, team, tenantLayer("first"))
	cloudtest.Changes(t, team, tenantLayer("second"), map[string]int{"update": 1})
	checkRefusals(t, cloud, key)
	if _, err := team.Destroy(t.Context(), tenantLayer("second"), nil); err != nil {
		t.Error(err)
	}

	// Google reserves the ID of a deleted role. The layer must come up again nevertheless.
	if _, err := engineer.Destroy(t.Context(), layer, nil); err != nil {
		t.Fatal(err)
	}
	cloudtest.Up(t, engineer, layer)
	cloudtest.Up(t, cloud.Runner(t, credentialsOf(t, engineer, layer, "web")), tenantLayer("third"))
}

func TestATeamsStateIsReadByItsOwnAccountOnly(t *testing.T) {
	long.Test(t)
	cloud := cloudtest.Start(t)
	engineer, layer := cloud.Runner(t, cloud.Owner), emulatedLayer(t, nil)
	cloudtest.Up(t, engineer, layer)

	clients := map[string]*storage.Service{}
	for _, team := range []string{"web", "api"} {
		if got := tenantOf(t, engineer, layer, team)["backend"]; got != "gs://strata-local-strata-"+team {
			t.Fatalf("the backend of team %s is %v", team, got)
		}
		clients[team] = storageOf(t, cloud, credentialsOf(t, engineer, layer, team))
	}
	for who, other := range map[string]string{"web": "api", "api": "web"} {
		own, foreign, client := "strata-local-strata-"+who, "strata-local-strata-"+other, clients[who]
		if err := write(client, own); err != nil {
			t.Errorf("team %s writes its state: %v", who, err)
		}
		for what, call := range map[string]func() error{
			"writes":  func() error { return write(client, foreign) },
			"reads":   func() error { _, err := client.Objects.Get(foreign, "state").Do(); return err },
			"lists":   func() error { _, err := client.Objects.List(foreign).Do(); return err },
			"deletes": func() error { return client.Objects.Delete(foreign, "state").Do() },
			"makes public what is in its own": func() error {
				_, err := client.Buckets.SetIamPolicy(own, &storage.Policy{}).Do()
				return err
			},
			"takes versions of its own away": func() error {
				_, err := client.Buckets.Patch(own, &storage.Bucket{Versioning: &storage.BucketVersioning{ForceSendFields: []string{"Enabled"}}}).Do()
				return err
			},
			"deletes its own":  func() error { return client.Buckets.Delete(own).Do() },
			"looks for others": func() error { _, err := client.Buckets.List(cloudtest.Project).Do(); return err },
		} {
			if err := call(); code(err) != http.StatusForbidden {
				t.Errorf("team %s %s bucket %s: want 403, got %v", who, what, foreign, err)
			}
		}
	}
	if err := write(clients["web"], "strata-local-strata-web"); err != nil {
		t.Fatal(err)
	}
	versions, err := clients["web"].Objects.List("strata-local-strata-web").Versions(true).Do()
	if err != nil || len(versions.Items) != 2 {
		t.Errorf("versions of the state are %+v, %v: the overwritten one is lost", versions, err)
	}
}

func TestAProtectedLayerLosesNothing(t *testing.T) {
	long.Test(t)
	cloud := cloudtest.Start(t)
	engineer := cloud.Runner(t, cloud.Owner)
	protected := emulatedLayer(t, func(c *bootstrap.Config) { c.DeletionProtection = true })
	cloudtest.Up(t, engineer, protected)
	key := credentialsOf(t, engineer, protected, "web")

	_, err := engineer.Destroy(t.Context(), protected, nil)
	if err == nil || !strings.Contains(err.Error(), "protect") {
		t.Errorf("destroy of a protected layer: %v", err)
	}
	// Only the keys are gone. A rotation must be able to replace them.
	cloudtest.Changes(t, engineer, protected, map[string]int{"create": 2})
	if err := write(storageOf(t, cloud, key), "strata-local-strata-web"); err == nil {
		t.Error("a deleted key still works")
	}
	if err := write(storageOf(t, cloud, credentialsOf(t, engineer, protected, "web")), "strata-local-strata-web"); err != nil {
		t.Errorf("the new key: %v", err)
	}

	lifted := emulatedLayer(t, nil)
	cloudtest.Up(t, engineer, lifted)
	if _, err := engineer.Destroy(t.Context(), lifted, nil); err != nil {
		t.Errorf("destroy of a layer with state in its buckets, and without protection: %v", err)
	}
}

func TestKeysAreRotatedAndLeaveWorkloadIdentityBehind(t *testing.T) {
	long.Test(t)
	cloud := cloudtest.Start(t)
	engineer, layer := cloud.Runner(t, cloud.Owner), emulatedLayer(t, nil)
	cloudtest.Up(t, engineer, layer)
	key := credentialsOf(t, engineer, layer, "web")

	rotated := emulatedLayer(t, func(c *bootstrap.Config) { c.TenantKeyRotation = "2" })
	cloudtest.Changes(t, engineer, rotated, map[string]int{"replace": 2})
	if err := write(storageOf(t, cloud, key), "strata-local-strata-web"); err == nil {
		t.Error("the key from before the rotation still works")
	}
	if err := write(storageOf(t, cloud, credentialsOf(t, engineer, rotated, "web")), "strata-local-strata-web"); err != nil {
		t.Errorf("the rotated key: %v", err)
	}

	keyless := emulatedLayer(t, func(c *bootstrap.Config) { c.TenantKeys = false })
	// The updates are changes of the components' own inputs. Nothing but the keys goes.
	cloudtest.Changes(t, engineer, keyless, map[string]int{"update": 2, "delete": 2})
	if got := tenantOf(t, engineer, keyless, "web")["credentials"]; got != "" {
		t.Error("credentials are handed on although there is no key")
	}
	accounts, err := iam.NewService(t.Context(), cloudOptions(t, cloud, cloud.Owner, "GOOGLE_IAM_CUSTOM_ENDPOINT", "v1/")...)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := accounts.Projects.ServiceAccounts.GetIamPolicy(
		"projects/strata-local/serviceAccounts/team-web@strata-local.iam.gserviceaccount.com").Do()
	if err != nil {
		t.Fatal(err)
	}
	if len(policy.Bindings) != 1 || strings.Join(policy.Bindings[0].Members, " ") != "serviceAccount:strata-local.svc.id.goog[team-web/web]" {
		t.Errorf("the account's policy is %+v", policy.Bindings)
	}
}

// code returns the HTTP status of a refused call, or 0.
func code(err error) int {
	if refused, ok := errors.AsType[*googleapi.Error](err); ok {
		return refused.Code
	}
	return 0
}

// write creates an object in the place of a state file.
func write(client *storage.Service, bucket string) error {
	_, err := client.Objects.Insert(bucket, &storage.Object{Name: "state"}).Media(strings.NewReader("{}")).Do()
	return err
}

func storageOf(t *testing.T, cloud cloudtest.Cloud, key string) *storage.Service {
	t.Helper()
	service, err := storage.NewService(t.Context(), cloudOptions(t, cloud, key, "GOOGLE_STORAGE_CUSTOM_ENDPOINT", "")...)
	if err != nil {
		t.Fatal(err)
	}
	return service
}

// cloudOptions returns options that connect a client to the cloud with a credential.
func cloudOptions(t *testing.T, cloud cloudtest.Cloud, credential, variable, version string) []option.ClientOption {
	t.Helper()
	kind := oauth.ServiceAccount
	if strings.Contains(credential, "authorized_user") {
		kind = oauth.AuthorizedUser
	}
	login, err := oauth.CredentialsFromJSONWithType(t.Context(), []byte(credential), kind, container.CloudPlatformScope)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := strings.TrimSuffix(emulator.Endpoints(cloud.URL)[variable], version)
	return []option.ClientOption{option.WithEndpoint(endpoint), option.WithTokenSource(login.TokenSource)}
}

// checkRefusals makes the calls that a team must not make, with the team's key.
func checkRefusals(t *testing.T, cloud cloudtest.Cloud, key string) {
	t.Helper()
	ctx := t.Context()
	options := func(variable, version string) []option.ClientOption {
		return cloudOptions(t, cloud, key, variable, version)
	}
	databases, err := sqladmin.NewService(ctx, options("GOOGLE_SQL_CUSTOM_ENDPOINT", "sql/v1beta4/")...)
	if err != nil {
		t.Fatal(err)
	}
	clusters, err := container.NewService(ctx, options("GOOGLE_CONTAINER_CUSTOM_ENDPOINT", "v1/")...)
	if err != nil {
		t.Fatal(err)
	}
	policies, err := crm.NewService(ctx, options("GOOGLE_RESOURCE_MANAGER_CUSTOM_ENDPOINT", "v1/")...)
	if err != nil {
		t.Fatal(err)
	}
	for permission, call := range map[string]func() error{
		"cloudsql.instances.delete": func() error { _, err := databases.Instances.Delete(cloudtest.Project, "strata").Do(); return err },
		"cloudsql.instances.update": func() error {
			_, err := databases.Instances.Patch(cloudtest.Project, "strata", &sqladmin.DatabaseInstance{}).Do()
			return err
		},
		"cloudsql.instances.create": func() error {
			_, err := databases.Instances.Insert(cloudtest.Project, &sqladmin.DatabaseInstance{Name: "own"}).Do()
			return err
		},
		"container.clusters.create": func() error {
			_, err := clusters.Projects.Locations.Clusters.Create("projects/"+cloudtest.Project+"/locations/europe-west1-b", &container.CreateClusterRequest{
				Cluster: &container.Cluster{Name: "own", InitialNodeCount: 1},
			}).Do()
			return err
		},
		"resourcemanager.projects.setIamPolicy": func() error {
			_, err := policies.Projects.SetIamPolicy(cloudtest.Project, &crm.SetIamPolicyRequest{Policy: &crm.Policy{}}).Do()
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "Error 403") || !strings.Contains(err.Error(), permission) {
			t.Errorf("want 403 for want of %s, got %v", permission, err)
		}
	}
}

func TestATeamsSecretsAreReadWithItsOwnKeyOnly(t *testing.T) {
	long.Test(t)
	cloud := cloudtest.Start(t)
	const ring = "projects/" + cloudtest.Project + "/locations/europe-west1/keyRings/strata"
	engineer, plain := cloud.Runner(t, cloud.Owner), emulatedLayer(t, nil)
	keyed := plain
	keyed.Config = maps.Clone(plain.Config)
	keyed.Config[bootstrap.Project+":tenantSecretsProvider"] = auto.ConfigValue{Value: "gcpkms://" + ring + "/cryptoKeys/{team}"}
	cloudtest.Up(t, engineer, plain)
	if _, err := engineer.Up(t.Context(), keyed, nil); err == nil || !strings.Contains(err.Error(), "cryptoKeys/") || !strings.Contains(err.Error(), "not found") {
		t.Errorf("without the keys, layer 1 says %v", err)
	}
	keys := keysOf(t, cloud, cloud.Owner)
	if _, err := keys.Create("projects/"+cloudtest.Project+"/locations/europe-west1", &cloudkms.KeyRing{}).KeyRingId("strata").Do(); err != nil {
		t.Fatal(err)
	}
	for _, team := range []string{"web", "api"} {
		if _, err := keys.CryptoKeys.Create(ring, &cloudkms.CryptoKey{Purpose: "ENCRYPT_DECRYPT"}).CryptoKeyId(team).Do(); err != nil {
			t.Fatal(err)
		}
	}
	// The change adds a binding for each team, and replaces nothing.
	cloudtest.Changes(t, engineer, keyed, map[string]int{"create": 2})
	cloudtest.Unchanged(t, engineer, keyed)
	for _, team := range []string{"web", "api"} {
		own := keysOf(t, cloud, credentialsOf(t, engineer, keyed, team))
		for _, key := range []string{"web", "api"} {
			_, err := own.CryptoKeys.Encrypt(ring+"/cryptoKeys/"+key, &cloudkms.EncryptRequest{Plaintext: "eA=="}).Do()
			if (err == nil) != (key == team) {
				t.Errorf("team %s encrypts with the key of %s: %v", team, key, err)
			}
		}
		if _, err := own.CryptoKeys.GetIamPolicy(ring + "/cryptoKeys/" + team).Do(); err == nil {
			t.Errorf("team %s reads the policy of its key", team)
		}
		if provider := tenantOf(t, engineer, keyed, team)["secretsProvider"]; provider != "gcpkms://"+ring+"/cryptoKeys/"+team {
			t.Errorf("team %s is handed %v", team, provider)
		}
	}
	// The keys outlive the layer, which can come up again.
	if _, err := engineer.Destroy(t.Context(), keyed, nil); err != nil {
		t.Fatal(err)
	}
	if found, err := keys.CryptoKeys.Get(ring + "/cryptoKeys/web").Do(); err != nil || found.Primary.State != "ENABLED" {
		t.Errorf("after the destroy, the key is %+v, %v", found, err)
	}
	cloudtest.Up(t, engineer, keyed)
}

// keysOf returns Google's client of key rings, for an identity.
func keysOf(t *testing.T, cloud cloudtest.Cloud, credentials string) *cloudkms.ProjectsLocationsKeyRingsService {
	t.Helper()
	svc, err := cloudkms.NewService(t.Context(), cloudOptions(t, cloud, credentials, "GOOGLE_KMS_CUSTOM_ENDPOINT", "v1/")...)
	if err != nil {
		t.Fatal(err)
	}
	return svc.Projects.Locations.KeyRings
}
