package cloud_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud"
)

// TestRolesAllowOnlyTheirCalls makes calls under each role. An allowed call may still fail for another reason, such as
// a cluster that does not exist.
func TestRolesAllowOnlyTheirCalls(t *testing.T) {
	const account = "projects/-/serviceAccounts/target@" + projectID + ".iam.gserviceaccount.com"
	calls := []struct {
		permission string
		call       func(*clients) error
	}{
		{"resourcemanager.projects.get", func(c *clients) error { _, err := c.projects.Projects.Get(projectID).Do(); return err }},
		{"resourcemanager.projects.getIamPolicy", func(c *clients) error {
			_, err := c.projects.Projects.GetIamPolicy(projectID, &crm.GetIamPolicyRequest{}).Do()
			return err
		}},
		{"resourcemanager.projects.setIamPolicy", func(c *clients) error {
			_, err := c.projects.Projects.SetIamPolicy(projectID, &crm.SetIamPolicyRequest{Policy: &crm.Policy{Etag: "old"}}).Do()
			return err
		}},
		{"iam.serviceAccounts.list", func(c *clients) error {
			_, err := c.iam.Projects.ServiceAccounts.List("projects/" + projectID).Do()
			return err
		}},
		{"iam.serviceAccounts.create", func(c *clients) error {
			_, err := c.iam.Projects.ServiceAccounts.Create("projects/"+projectID, &iam.CreateServiceAccountRequest{AccountId: "x"}).Do()
			return err
		}},
		{"iam.serviceAccounts.get", func(c *clients) error { _, err := c.iam.Projects.ServiceAccounts.Get(account).Do(); return err }},
		{"iam.serviceAccounts.getIamPolicy", func(c *clients) error {
			_, err := c.iam.Projects.ServiceAccounts.GetIamPolicy(account).Do()
			return err
		}},
		{"iam.serviceAccounts.setIamPolicy", func(c *clients) error {
			_, err := c.iam.Projects.ServiceAccounts.SetIamPolicy(account, &iam.SetIamPolicyRequest{Policy: &iam.Policy{Etag: "old"}}).Do()
			return err
		}},
		{"iam.serviceAccountKeys.create", func(c *clients) error {
			_, err := c.iam.Projects.ServiceAccounts.Keys.Create(account, &iam.CreateServiceAccountKeyRequest{PrivateKeyType: "TYPE_PKCS12_FILE"}).Do()
			return err
		}},
		{"iam.serviceAccountKeys.list", func(c *clients) error {
			_, err := c.iam.Projects.ServiceAccounts.Keys.List(account).Do()
			return err
		}},
		{"container.clusters.create", func(c *clients) error {
			_, err := c.container.Projects.Locations.Clusters.Create(parent, &container.CreateClusterRequest{}).Do()
			return err
		}},
		{"container.clusters.list", func(c *clients) error {
			_, err := c.container.Projects.Locations.Clusters.List(parent).Do()
			return err
		}},
		{"container.clusters.get", func(c *clients) error {
			_, err := c.container.Projects.Locations.Clusters.Get(parent + "/clusters/none").Do()
			return err
		}},
		{"container.clusters.update", func(c *clients) error {
			_, err := c.container.Projects.Locations.Clusters.NodePools.Delete(parent + "/clusters/none/nodePools/none").Do()
			return err
		}},
		{"container.clusters.delete", func(c *clients) error {
			_, err := c.container.Projects.Locations.Clusters.Delete(parent + "/clusters/none").Do()
			return err
		}},
		{"cloudsql.instances.create", func(c *clients) error {
			_, err := c.sql.Instances.Insert(projectID, &sqladmin.DatabaseInstance{}).Do()
			return err
		}},
		{"cloudsql.instances.get", func(c *clients) error { _, err := c.sql.Instances.Get(projectID, "none").Do(); return err }},
		{"cloudsql.instances.update", func(c *clients) error {
			_, err := c.sql.Instances.Patch(projectID, "none", &sqladmin.DatabaseInstance{}).Do()
			return err
		}},
		{"cloudsql.instances.delete", func(c *clients) error { _, err := c.sql.Instances.Delete(projectID, "none").Do(); return err }},
		{"cloudsql.databases.create", func(c *clients) error {
			_, err := c.sql.Databases.Insert(projectID, "none", &sqladmin.Database{Name: "x"}).Do()
			return err
		}},
		{"cloudsql.databases.delete", func(c *clients) error {
			_, err := c.sql.Databases.Delete(projectID, "none", "x").Do()
			return err
		}},
		{"cloudsql.users.create", func(c *clients) error {
			_, err := c.sql.Users.Insert(projectID, "none", &sqladmin.User{Name: "x"}).Do()
			return err
		}},
		{"cloudsql.users.list", func(c *clients) error { _, err := c.sql.Users.List(projectID, "none").Do(); return err }},
		{"serviceusage.services.list", func(c *clients) error { _, err := c.services.Services.List("projects/" + projectID).Do(); return err }},
	}
	roles := []struct {
		role    string
		allowed string // the permissions of the calls that the role may make
	}{
		{"", ""},
		{"roles/logging.logWriter", ""}, // one of Google's roles that the emulator does not know
		{"roles/cloudsql.client", "cloudsql.instances.get"},
		{"roles/cloudsql.editor", "resourcemanager.projects.get cloudsql.instances.get cloudsql.instances.update cloudsql.databases.create " +
			"cloudsql.users.list serviceusage.services.list"},
		{"roles/cloudsql.admin", "resourcemanager.projects.get cloudsql.instances.create cloudsql.instances.get cloudsql.instances.update " +
			"cloudsql.instances.delete cloudsql.databases.create cloudsql.databases.delete cloudsql.users.create cloudsql.users.list " +
			"serviceusage.services.list"},
		{"roles/container.viewer", "resourcemanager.projects.get container.clusters.get container.clusters.list"},
		{"roles/container.clusterAdmin", "resourcemanager.projects.get container.clusters.create container.clusters.list container.clusters.get " +
			"container.clusters.update container.clusters.delete"},
		{"roles/iam.serviceAccountAdmin", "resourcemanager.projects.get iam.serviceAccounts.list iam.serviceAccounts.create iam.serviceAccounts.get " +
			"iam.serviceAccounts.getIamPolicy iam.serviceAccounts.setIamPolicy"},
		{"roles/iam.serviceAccountKeyAdmin", "resourcemanager.projects.get iam.serviceAccounts.list iam.serviceAccounts.get " +
			"iam.serviceAccountKeys.create iam.serviceAccountKeys.list"},
		{"roles/resourcemanager.projectIamAdmin", "resourcemanager.projects.get resourcemanager.projects.getIamPolicy resourcemanager.projects.setIamPolicy"},
		{"roles/viewer", "resourcemanager.projects.get resourcemanager.projects.getIamPolicy iam.serviceAccounts.list iam.serviceAccounts.get " +
			"iam.serviceAccounts.getIamPolicy iam.serviceAccountKeys.list container.clusters.list container.clusters.get cloudsql.instances.get " +
			"cloudsql.users.list serviceusage.services.list"},
	}
	everything := make([]string, 0, len(calls))
	for _, call := range calls {
		everything = append(everything, call.permission)
	}
	roles = append(roles, struct{ role, allowed string }{"roles/owner", strings.Join(everything, " ")})

	c := newEmulator(t, false)
	c.account("target")
	for i, test := range roles {
		t.Run(test.role, func(t *testing.T) {
			var granted []string
			if test.role != "" {
				granted = []string{test.role}
			}
			_, key := c.account(fmt.Sprintf("caller-%d", i), granted...)
			caller := c.as(key)
			allowed := strings.Fields(test.allowed)
			for _, call := range calls {
				err := call.call(caller)
				denied := code(err) == http.StatusForbidden
				if want := !oneOf(allowed, call.permission); denied != want {
					t.Errorf("%s: denied is %t, want %t: %v", call.permission, denied, want, err)
				}
				if denied && !strings.Contains(err.Error(), call.permission) {
					t.Errorf("the error does not contain %s: %v", call.permission, err)
				}
			}
			answer, err := caller.projects.Projects.TestIamPermissions(projectID, &crm.TestIamPermissionsRequest{Permissions: everything}).Do()
			if err != nil {
				t.Fatal(err)
			}
			if len(answer.Permissions) != len(allowed) {
				t.Errorf("testIamPermissions returns %v; want %v", answer.Permissions, allowed)
			}
		})
	}
}

func oneOf(all []string, one string) bool {
	return slices.Contains(all, one)
}

func TestErrorsMatchTheirAPI(t *testing.T) {
	c := newEmulator(t, false)
	_, key := c.account("nobody")
	token, err := login(t, key)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ method, path, want string }{
		"container": {"POST", "/container/v1/" + parent + "/clusters", `{"error":{"code":403,` +
			`"message":"Required \"container.clusters.create\" permission(s) for \"projects/strata-local\".",` +
			`"errors":[{"message":"Required \"container.clusters.create\" permission(s) for \"projects/strata-local\".","domain":"global","reason":"forbidden"}],` +
			`"status":"PERMISSION_DENIED"}}`},
		"iam": {"POST", "/iam/v1/projects/strata-local/serviceAccounts", `{"error":{"code":403,` +
			`"message":"Permission 'iam.serviceAccounts.create' denied on resource (or it may not exist).",` +
			`"errors":[{"message":"Permission 'iam.serviceAccounts.create' denied on resource (or it may not exist).","domain":"global","reason":"forbidden"}],` +
			`"status":"PERMISSION_DENIED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"IAM_PERMISSION_DENIED",` +
			`"domain":"iam.googleapis.com","metadata":{"permission":"iam.serviceAccounts.create"}}]}}`},
		"sql": {"GET", "/sqladmin/sql/v1beta4/projects/strata-local/instances/strata", `{"error":{"code":403,` +
			`"message":"boss::NOT_AUTHORIZED: Not authorized to access resource. Possibly missing permission cloudsql.instances.get on resource instances/strata.",` +
			`"errors":[{"message":"boss::NOT_AUTHORIZED: Not authorized to access resource. Possibly missing permission cloudsql.instances.get on resource instances/strata.",` +
			`"domain":"global","reason":"forbidden"}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			_, body := c.ask(test.method, test.path, token, "")
			if got := compact(t, body); got != test.want {
				t.Errorf("body is\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestRoleOnAServiceAccountAppliesToThatAccountOnly(t *testing.T) {
	c := newEmulator(t, false)
	mine, _ := c.account("mine-account")
	other, _ := c.account("other-account")
	email, key := c.account("caller")
	_, err := c.owner().iam.Projects.ServiceAccounts.SetIamPolicy("projects/-/serviceAccounts/"+mine, &iam.SetIamPolicyRequest{Policy: &iam.Policy{
		Bindings: []*iam.Binding{{Role: "roles/iam.serviceAccountKeyAdmin", Members: []string{"serviceAccount:" + email}}},
	}}).Do()
	if err != nil {
		t.Fatal(err)
	}
	keys := c.as(key).iam.Projects.ServiceAccounts.Keys
	if _, err := keys.Create("projects/-/serviceAccounts/"+mine, &iam.CreateServiceAccountKeyRequest{}).Do(); err != nil {
		t.Errorf("create a key of the account with the role: %v", err)
	}
	_, err = keys.Create("projects/-/serviceAccounts/"+other, &iam.CreateServiceAccountKeyRequest{}).Do()
	refused(t, err, 403, "iam.serviceAccountKeys.create")
}

func TestMissingAndForeignProjectsGiveTheSameError(t *testing.T) {
	c := newEmulator(t, false)
	_, err := c.owner().projects.Projects.Get("another-project").Do()
	refused(t, err, 403, "resourcemanager.projects.get")
	_, err = c.owner().container.Projects.Locations.Clusters.List("projects/another-project/locations/-").Do()
	refused(t, err, 403, "container.clusters.list")
}

func TestProjectHasANumber(t *testing.T) {
	c := newEmulator(t, false)
	found, err := c.owner().projects.Projects.Get(projectID).Do()
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.owner().projects.Projects.Get(fmt.Sprint(found.ProjectNumber)).Do()
	if err != nil || again.ProjectId != projectID {
		t.Errorf("found %v, %v; want %s", again, err, projectID)
	}
}

func TestPathWithTwoVersions(t *testing.T) {
	c := newEmulator(t, false)
	_, key := c.account("reader", "roles/viewer")
	token, err := login(t, key)
	if err != nil {
		t.Fatal(err)
	}
	endpoints := cloud.Endpoints("")
	for variable, path := range map[string]string{
		"GOOGLE_IAM_CUSTOM_ENDPOINT":              "v1/projects/strata-local/serviceAccounts",
		"GOOGLE_RESOURCE_MANAGER_CUSTOM_ENDPOINT": "v1/projects/strata-local",
		"GOOGLE_CONTAINER_CUSTOM_ENDPOINT":        "v1beta1/projects/strata-local/locations/-/clusters",
		"GOOGLE_SQL_CUSTOM_ENDPOINT":              "sql/v1beta4/projects/strata-local/instances",
		"GOOGLE_SERVICE_USAGE_CUSTOM_ENDPOINT":    "v1/projects/strata-local/services",
	} {
		if status, body := c.ask("GET", endpoints[variable]+path, token, ""); status != http.StatusOK {
			t.Errorf("%s%s: %d %s", endpoints[variable], path, status, body)
		}
	}
}
