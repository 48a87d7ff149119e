package bootstrap_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/sql"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	oauth "golang.org/x/oauth2/google"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/option"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/local/gcloud"
	"github.com/strata-platform/strata/internal/local/gcloud/dolt"
	"github.com/strata-platform/strata/internal/local/plugins"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

const emulated = "strata-local"

// TestMain makes the test binary a plugin when it is started under a plugin's name.
func TestMain(m *testing.M) {
	if name, ok := plugins.Name(os.Args[0]); ok {
		if err := plugins.Run(context.Background(), name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// pretendedCluster stands in for a control plane.
type pretendedCluster struct{}

func (pretendedCluster) Create(context.Context, string) (gcloud.ClusterAccess, error) {
	return gcloud.ClusterAccess{Endpoint: "127.0.0.1:6443", CA: []byte("ca"), ClientCertificate: []byte("certificate"), ClientKey: []byte("key")}, nil
}
func (pretendedCluster) Delete(context.Context, string) error { return nil }

// startGoogle starts an emulated Google Cloud with real databases. It returns its address and its owner's credentials.
func startGoogle(t *testing.T) (url, owner string) {
	t.Helper()
	binary, dir := toolchaintest.Path(t, "dolt"), t.TempDir()
	var server *gcloud.Server
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { server.ServeHTTP(w, r) }))
	t.Cleanup(front.Close)
	server, err := gcloud.New(gcloud.Options{
		Dir: filepath.Join(dir, "store"), BaseURL: front.URL, Clusters: pretendedCluster{},
		Databases: dolt.New(dolt.Options{
			Binary: func(context.Context) (string, error) { return binary, nil },
			Dir:    filepath.Join(dir, "sql"), Logs: filepath.Join(dir, "logs"),
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	credentials, err := server.EnsureProject(emulated, "engineer@example.com")
	if err != nil {
		t.Fatal(err)
	}
	return front.URL, string(credentials)
}

// runnerAs returns what runs layers with an identity of the emulated Google Cloud and a backend of their own.
func runnerAs(t *testing.T, url, credentials string) layers.Runner {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"pulumi": toolchaintest.Path(t, "pulumi"), "pulumi-resource-gcp": self} {
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{
		"PATH": bin + ":/usr/bin:/bin", "HOME": dir, "PULUMI_HOME": filepath.Join(dir, ".pulumi"),
		"PULUMI_BACKEND_URL": "file://" + dir, "PULUMI_CONFIG_PASSPHRASE": "test",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true", "PULUMI_SKIP_UPDATE_CHECK": "true",
		"GOOGLE_CREDENTIALS": credentials, "GOOGLE_PROJECT": emulated, "GOOGLE_REGION": "europe-west1",
	}
	maps.Copy(env, gcloud.Endpoints(url))
	return layers.Runner{
		Stack: "dev", Pulumi: dir, Env: env, WorkDir: func(layer string) string { return filepath.Join(dir, layer) },
	}
}

// emulatedLayer is layer 1 as the local target configures it.
func emulatedLayer(t *testing.T) layers.Layer {
	t.Helper()
	teams := filepath.Join(t.TempDir(), "teams.yaml")
	if err := os.WriteFile(teams, []byte("apiVersion: strata/v1\nkind: Teams\nteams:\n- name: web\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := bootstrap.NewConfig()
	if err != nil {
		t.Fatal(err)
	}
	config.Project, config.Zone, config.TeamsFile, config.TenantBackend = emulated, "europe-west1-b", teams, "file:///state/{team}"
	config.DeletionProtection, config.IssueClientCertificate, config.TenantKeys = false, true, true
	values, err := config.ConfigMap()
	if err != nil {
		t.Fatal(err)
	}
	return layers.Layer{Name: "bootstrap", Project: bootstrap.Project, Program: bootstrap.Program, Config: values}
}

// tenantLayer is a team's program: it looks the shared instance up, and makes a database and a user.
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

// credentialsOf returns the key of a team's Google account.
func credentialsOf(t *testing.T, r layers.Runner, l layers.Layer, team string) string {
	t.Helper()
	outputs, err := r.Outputs(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	tenants, _ := outputs["tenants"].Value.(map[string]any)
	tenant, _ := tenants[team].(map[string]any)
	credentials, _ := tenant["credentials"].(string)
	if credentials == "" {
		t.Fatalf("team %s has no credentials", team)
	}
	return credentials
}

func up(t *testing.T, r layers.Runner, l layers.Layer) layers.Summary {
	t.Helper()
	summary, err := r.Up(t.Context(), l, nil)
	if err != nil {
		t.Fatal(err)
	}
	return summary
}

func TestATeamMakesDatabasesAndUsersAndIsRefusedTheRest(t *testing.T) {
	url, owner := startGoogle(t)
	engineer, layer := runnerAs(t, url, owner), emulatedLayer(t)
	up(t, engineer, layer)
	if again := up(t, engineer, layer); again.Changes["create"]+again.Changes["update"]+again.Changes["replace"]+again.Changes["delete"] != 0 {
		t.Errorf("a second up: %s", again)
	}

	key := credentialsOf(t, engineer, layer, "web")
	team := runnerAs(t, url, key)
	up(t, team, tenantLayer("first"))
	if changed := up(t, team, tenantLayer("second")); changed.Changes["update"] != 1 {
		t.Errorf("up with another password: %s", changed)
	}
	checkRefusals(t, url, key)
	if _, err := team.Destroy(t.Context(), tenantLayer("second"), nil); err != nil {
		t.Error(err)
	}

	// Google keeps what a deleted role was called; the layer must come up again nevertheless.
	if _, err := engineer.Destroy(t.Context(), layer, nil); err != nil {
		t.Fatal(err)
	}
	up(t, engineer, layer)
	up(t, runnerAs(t, url, credentialsOf(t, engineer, layer, "web")), tenantLayer("third"))
}

// checkRefusals calls what a team must not do, with the team's key.
func checkRefusals(t *testing.T, url, key string) {
	t.Helper()
	ctx := t.Context()
	login, err := oauth.CredentialsFromJSONWithType(ctx, []byte(key), oauth.ServiceAccount, container.CloudPlatformScope)
	if err != nil {
		t.Fatal(err)
	}
	options := func(variable, version string) []option.ClientOption {
		endpoint := strings.TrimSuffix(gcloud.Endpoints(url)[variable], version)
		return []option.ClientOption{option.WithEndpoint(endpoint), option.WithTokenSource(login.TokenSource)}
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
		"cloudsql.instances.delete": func() error { _, err := databases.Instances.Delete(emulated, "strata").Do(); return err },
		"cloudsql.instances.update": func() error {
			_, err := databases.Instances.Patch(emulated, "strata", &sqladmin.DatabaseInstance{}).Do()
			return err
		},
		"cloudsql.instances.create": func() error {
			_, err := databases.Instances.Insert(emulated, &sqladmin.DatabaseInstance{Name: "own"}).Do()
			return err
		},
		"container.clusters.create": func() error {
			_, err := clusters.Projects.Locations.Clusters.Create("projects/"+emulated+"/locations/europe-west1-b", &container.CreateClusterRequest{
				Cluster: &container.Cluster{Name: "own", InitialNodeCount: 1},
			}).Do()
			return err
		},
		"resourcemanager.projects.setIamPolicy": func() error {
			_, err := policies.Projects.SetIamPolicy(emulated, &crm.SetIamPolicyRequest{Policy: &crm.Policy{}}).Do()
			return err
		},
	} {
		if err := call(); err == nil || !strings.Contains(err.Error(), "Error 403") || !strings.Contains(err.Error(), permission) {
			t.Errorf("want 403 for want of %s, got %v", permission, err)
		}
	}
}
