package cloudsql_test

import (
	"strings"
	"testing"

	oauth "golang.org/x/oauth2/google"
	"google.golang.org/api/option"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/cloudsql"
	"github.com/strata-platform/strata/internal/layers"
	emulator "github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/cloudtest"
	"github.com/strata-platform/strata/test/long"
)

func TestMain(m *testing.M) { cloudtest.Main(m) }

// databases returns a client of the Cloud SQL API, with the owner's credentials.
func databases(t *testing.T, cloud cloudtest.Cloud) *sqladmin.Service {
	t.Helper()
	login, err := oauth.CredentialsFromJSONWithType(t.Context(), []byte(cloud.Owner), oauth.AuthorizedUser, sqladmin.CloudPlatformScope)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := strings.TrimSuffix(emulator.Endpoints(cloud.URL)["GOOGLE_SQL_CUSTOM_ENDPOINT"], "sql/v1beta4/")
	service, err := sqladmin.NewService(t.Context(), option.WithEndpoint(endpoint), option.WithTokenSource(login.TokenSource))
	if err != nil {
		t.Fatal(err)
	}
	return service
}

func checkContents(t *testing.T, service *sqladmin.Service) {
	t.Helper()
	if _, err := service.Databases.Get(cloudtest.Project, "shared", "audit").Do(); err != nil {
		t.Errorf("get the database: %v", err)
	}
	if _, err := service.Users.Get(cloudtest.Project, "shared", "auditor").Host("%").Do(); err != nil {
		t.Errorf("get the user: %v", err)
	}
}

func TestTheExampleLosesNothingWhileItIsProtected(t *testing.T) {
	long.Test(t)
	cloud := cloudtest.Start(t)
	r, service := cloud.Runner(t, cloud.Owner), databases(t, cloud)
	protected, lifted := cloudtest.Program(sharedInstance(true)), cloudtest.Program(sharedInstance(false))
	cloudtest.Up(t, r, protected)
	cloudtest.Unchanged(t, r, protected)
	if _, err := r.Destroy(t.Context(), protected, nil); err == nil || !strings.Contains(err.Error(), "protect") {
		t.Errorf("destroy of a protected instance: %v", err)
	}
	checkContents(t, service)
	cloudtest.Unchanged(t, r, protected)

	cloudtest.Up(t, r, lifted)
	// A person at the console protects the instance. The program does not know about it.
	_, err := service.Instances.Patch(cloudtest.Project, "shared", &sqladmin.DatabaseInstance{
		Settings: &sqladmin.Settings{DeletionProtectionEnabled: true},
	}).Do()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Destroy(t.Context(), lifted, nil); err == nil || !strings.Contains(err.Error(), "deletion protection") {
		t.Errorf("destroy of an instance that the service protects: %v", err)
	}
	checkContents(t, service)
}

func TestAnUnprotectedInstanceIsDestroyedWithItsContent(t *testing.T) {
	long.Test(t)
	cloud := cloudtest.Start(t)
	r, lifted := cloud.Runner(t, cloud.Owner), cloudtest.Program(sharedInstance(false))
	cloudtest.Up(t, r, lifted)
	if _, err := r.Destroy(t.Context(), lifted, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := databases(t, cloud).Instances.Get(cloudtest.Project, "shared").Do(); err == nil {
		t.Error("the instance still exists")
	}
}

func TestEveryChoiceIsKeptByASecondUp(t *testing.T) {
	cloud := cloudtest.Start(t)
	choices := cloudtest.Program(func(ctx *pulumi.Context) error {
		_, err := cloudsql.NewInstance(ctx, "private", &cloudsql.InstanceArgs{
			Name: pulumi.String("private"), Project: pulumi.String(cloudtest.Project), Region: pulumi.String("europe-west1"), HighAvailability: pulumi.Bool(true),
			PrivateNetwork: pulumi.String("projects/strata-local/global/networks/core"),
			Databases:      []cloudsql.Database{{Name: "shop", Charset: pulumi.String("utf8mb4"), Collation: pulumi.String("utf8mb4_general_ci")}},
			Users:          []cloudsql.User{{Name: "shop", Host: pulumi.String("%"), Password: pulumi.String("canary")}},
		})
		if err != nil {
			return err
		}
		_, err = cloudsql.NewInstance(ctx, "postgres", &cloudsql.InstanceArgs{
			Name: pulumi.String("postgres"), Project: pulumi.String(cloudtest.Project), Region: pulumi.String("europe-west1"), Version: "POSTGRES_16",
			Backups: &cloudsql.Backups{StartTime: pulumi.String("03:00"), Retained: pulumi.Int(14), LogDays: pulumi.Int(3)},
		})
		return err
	})
	r := cloud.Runner(t, cloud.Owner)
	cloudtest.Up(t, r, choices)
	cloudtest.Unchanged(t, r, choices)
}

func TestARenamedComponentWithAnAliasKeepsItsInstance(t *testing.T) {
	cloud := cloudtest.Start(t)
	named := func(name string, opts ...pulumi.ResourceOption) layers.Layer {
		return cloudtest.Program(func(ctx *pulumi.Context) error {
			_, err := cloudsql.NewInstance(ctx, name, &cloudsql.InstanceArgs{
				Name: pulumi.String("shared"), Project: pulumi.String(cloudtest.Project), Region: pulumi.String("europe-west1"),
				Databases: []cloudsql.Database{{Name: "audit"}},
			}, opts...)
			return err
		})
	}
	r := cloud.Runner(t, cloud.Owner)
	cloudtest.Up(t, r, named("old"))
	cloudtest.Unchanged(t, r, named("new", pulumi.Aliases([]pulumi.Alias{{Name: pulumi.String("old")}})))
}
