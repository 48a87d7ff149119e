package layers_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/container"
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/serviceaccount"
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/sql"
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/storage"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/local/cloudtest"
	"github.com/strata-platform/strata/test/long"
)

func TestMain(m *testing.M) { cloudtest.Main(m) }

// gcpResources is the number of resources of gcpProgram in Google Cloud.
const gcpResources = 11

// gcpProgram has a resource of each type whose inputs determine the ID. Most of them take their project from the provider.
func gcpProgram(ctx *pulumi.Context) error {
	text := func(s string) pulumi.StringInput { return pulumi.String(s) }
	account, err := serviceaccount.NewAccount(ctx, "account", &serviceaccount.AccountArgs{AccountId: text("team-web")})
	if err != nil {
		return err
	}
	role, err := projects.NewIAMCustomRole(ctx, "role", &projects.IAMCustomRoleArgs{
		RoleId: text("tenant"), Title: text("Tenant"), Permissions: pulumi.StringArray{text("cloudsql.instances.get")},
	})
	if err != nil {
		return err
	}
	bucket, err := storage.NewBucket(ctx, "bucket", &storage.BucketArgs{Location: text("EU"), UniformBucketLevelAccess: pulumi.Bool(true)})
	if err != nil {
		return err
	}
	cluster, err := container.NewCluster(ctx, "cluster", &container.ClusterArgs{
		Location: text("europe-west1-b"), InitialNodeCount: pulumi.Int(1), DeletionProtection: pulumi.Bool(false),
	})
	if err != nil {
		return err
	}
	instance, err := sql.NewDatabaseInstance(ctx, "instance", &sql.DatabaseInstanceArgs{
		DatabaseVersion: text("MYSQL_8_0"), DeletionProtection: pulumi.Bool(false),
		Settings: &sql.DatabaseInstanceSettingsArgs{Tier: text("db-f1-micro")},
	})
	if err != nil {
		return err
	}
	member := pulumi.Sprintf("serviceAccount:%s", account.Email)
	_, err = projects.NewIAMMember(ctx, "member", &projects.IAMMemberArgs{Project: text(cloudtest.Project), Role: role.Name, Member: member})
	if err != nil {
		return err
	}
	_, err = serviceaccount.NewIAMMember(ctx, "actAs", &serviceaccount.IAMMemberArgs{
		ServiceAccountId: account.Name, Role: text("roles/iam.serviceAccountUser"), Member: text("user:a@example.com"),
	})
	if err != nil {
		return err
	}
	_, err = storage.NewBucketIAMMember(ctx, "reader", &storage.BucketIAMMemberArgs{
		Bucket: bucket.Name, Role: text("roles/storage.objectViewer"), Member: member,
	})
	if err != nil {
		return err
	}
	_, err = container.NewNodePool(ctx, "pool", &container.NodePoolArgs{Cluster: cluster.ID(), Location: text("europe-west1-b"), NodeCount: pulumi.Int(1)})
	if err != nil {
		return err
	}
	database, err := sql.NewDatabase(ctx, "database", &sql.DatabaseArgs{Instance: instance.Name})
	if err != nil {
		return err
	}
	_, err = sql.NewUser(ctx, "user", &sql.UserArgs{
		Instance: database.Instance, Password: pulumi.ToSecret(text("secret")).(pulumi.StringOutput),
	})
	return err
}

// killed changes the state of a layer to one of a run that was killed while it created all resources of Google Cloud.
func killed(t *testing.T, r layers.Runner, l layers.Layer) {
	t.Helper()
	path := filepath.Join(strings.TrimPrefix(r.Env["PULUMI_BACKEND_URL"], "file://"), ".pulumi", "stacks", l.Project, "dev.json")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	latest := file["checkpoint"].(map[string]any)["latest"].(map[string]any)
	var kept, pending []any
	for _, r := range latest["resources"].([]any) {
		created := r.(map[string]any)
		if !strings.HasPrefix(created["type"].(string), "gcp:") {
			kept = append(kept, r)
			continue
		}
		delete(created, "id")
		delete(created, "outputs")
		pending = append(pending, map[string]any{"type": "creating", "resource": created})
	}
	latest["resources"], latest["pending_operations"] = kept, pending
	if content, err = json.Marshal(file); err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestObjectsOfAKilledRunAreAdopted(t *testing.T) {
	long.Test(t)
	cloud := cloudtest.Start(t)
	runner, layer := cloud.Runner(t, cloud.Owner), cloudtest.Program(gcpProgram)
	cloudtest.Up(t, runner, layer)

	killed(t, runner, layer)
	cloudtest.Unchanged(t, runner, layer)

	// If the destroy left an object, the next run could not create it again.
	killed(t, runner, layer)
	if _, err := runner.Destroy(t.Context(), layer, nil); err != nil {
		t.Fatal(err)
	}
	cloudtest.Changes(t, runner, layer, map[string]int{"create": gcpResources + 1})
}
