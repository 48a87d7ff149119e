package bootstrap_test

import (
	"encoding/base64"
	"slices"
	"testing"

	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/sqladmin/v1beta4"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/internal/local/cloudtest"
	"github.com/strata-platform/strata/test/long"
)

func TestThePermissionOfPlansIsThatOfEveryTeam(t *testing.T) {
	for _, permission := range bootstrap.PlanPermissions() {
		if !slices.Contains(bootstrap.TenantPermissions(), permission) {
			t.Errorf("a plan may %s, and a reviewed Program may not", permission)
		}
	}
}

// TestTheIdentityOfPlansReadsInstancesOnly tries every way from the identity for plans to something other than an instance.
func TestTheIdentityOfPlansReadsInstancesOnly(t *testing.T) {
	long.Test(t)
	cloud := cloudtest.Start(t)
	engineer, layer := cloud.Runner(t, cloud.Owner), emulatedLayer(t, nil)
	cloudtest.Up(t, engineer, layer)
	outputs, err := engineer.Outputs(t.Context(), layer)
	if err != nil {
		t.Fatal(err)
	}
	// The layer creates no key. The engineer makes one, to try the identity.
	owner, err := iam.NewService(t.Context(), cloudOptions(t, cloud, cloud.Owner, "GOOGLE_IAM_CUSTOM_ENDPOINT", "v1/")...)
	if err != nil {
		t.Fatal(err)
	}
	email, _ := outputs["planAccount"].Value.(string)
	plans := "projects/-/serviceAccounts/" + email
	policy, err := owner.Projects.ServiceAccounts.GetIamPolicy(plans).Do()
	if err != nil {
		t.Fatal(err)
	}
	const operator = "serviceAccount:" + cloudtest.Project + ".svc.id.goog[pulumi-kubernetes-operator/pulumi-operator]"
	if len(policy.Bindings) != 1 || policy.Bindings[0].Role != "roles/iam.workloadIdentityUser" || !slices.Equal(policy.Bindings[0].Members, []string{operator}) {
		t.Errorf("the account may be used by %+v", policy.Bindings)
	}
	made, err := owner.Projects.ServiceAccounts.Keys.Create(plans, &iam.CreateServiceAccountKeyRequest{}).Do()
	if err != nil {
		t.Fatal(err)
	}
	file, err := base64.StdEncoding.DecodeString(made.PrivateKeyData)
	if err != nil {
		t.Fatal(err)
	}
	key := string(file)
	const project, account = cloudtest.Project, "projects/-/serviceAccounts/team-web@" + cloudtest.Project + ".iam.gserviceaccount.com"
	databases, err := sqladmin.NewService(t.Context(), cloudOptions(t, cloud, key, "GOOGLE_SQL_CUSTOM_ENDPOINT", "sql/v1beta4/")...)
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := iam.NewService(t.Context(), cloudOptions(t, cloud, key, "GOOGLE_IAM_CUSTOM_ENDPOINT", "v1/")...)
	if err != nil {
		t.Fatal(err)
	}
	policies, err := crm.NewService(t.Context(), cloudOptions(t, cloud, key, "GOOGLE_RESOURCE_MANAGER_CUSTOM_ENDPOINT", "v1/")...)
	if err != nil {
		t.Fatal(err)
	}
	clusters, err := container.NewService(t.Context(), cloudOptions(t, cloud, key, "GOOGLE_CONTAINER_CUSTOM_ENDPOINT", "v1/")...)
	if err != nil {
		t.Fatal(err)
	}
	objects := storageOf(t, cloud, key)
	if found, err := databases.Instances.Get(project, "strata").Do(); err != nil || found.ConnectionName == "" {
		t.Errorf("the instance: %+v, %v", found, err)
	}
	for what, call := range map[string]func() error{
		"list instances": func() error { _, err := databases.Instances.List(project).Do(); return err },
		"change the instance": func() error {
			_, err := databases.Instances.Patch(project, "strata", &sqladmin.DatabaseInstance{}).Do()
			return err
		},
		"delete the instance": func() error { _, err := databases.Instances.Delete(project, "strata").Do(); return err },
		"list databases":      func() error { _, err := databases.Databases.List(project, "strata").Do(); return err },
		"read a database":     func() error { _, err := databases.Databases.Get(project, "strata", "web").Do(); return err },
		"create a database": func() error {
			_, err := databases.Databases.Insert(project, "strata", &sqladmin.Database{Name: "web"}).Do()
			return err
		},
		"list users": func() error { _, err := databases.Users.List(project, "strata").Do(); return err },
		"create a user": func() error {
			_, err := databases.Users.Insert(project, "strata", &sqladmin.User{Name: "web"}).Do()
			return err
		},
		"connect": func() error {
			_, err := databases.Connect.GenerateEphemeralCert(project, "strata", &sqladmin.GenerateEphemeralCertRequest{}).Do()
			return err
		},
		"create a team's key": func() error {
			_, err := accounts.Projects.ServiceAccounts.Keys.Create(account, &iam.CreateServiceAccountKeyRequest{}).Do()
			return err
		},
		"create its own key": func() error {
			_, err := accounts.Projects.ServiceAccounts.Keys.Create("projects/-/serviceAccounts/strata-plan@"+project+".iam.gserviceaccount.com", &iam.CreateServiceAccountKeyRequest{}).Do()
			return err
		},
		"list accounts": func() error { _, err := accounts.Projects.ServiceAccounts.List("projects/" + project).Do(); return err },
		"act as a team": func() error {
			_, err := accounts.Projects.ServiceAccounts.SetIamPolicy(account, &iam.SetIamPolicyRequest{Policy: &iam.Policy{}}).Do()
			return err
		},
		"widen its role": func() error {
			_, err := accounts.Projects.Roles.Patch("projects/"+project+"/roles/"+bootstrap.PlanRole, &iam.Role{}).Do()
			return err
		},
		"set the policy": func() error {
			_, err := policies.Projects.SetIamPolicy(project, &crm.SetIamPolicyRequest{Policy: &crm.Policy{}}).Do()
			return err
		},
		"read the policy": func() error {
			_, err := policies.Projects.GetIamPolicy(project, &crm.GetIamPolicyRequest{}).Do()
			return err
		},
		"read the cluster": func() error {
			_, err := clusters.Projects.Locations.Clusters.List("projects/" + project + "/locations/-").Do()
			return err
		},
		"list buckets": func() error { _, err := objects.Buckets.List(project).Do(); return err },
		"create a bucket": func() error {
			_, err := objects.Buckets.Insert(project, &storage.Bucket{Name: "of-a-plan"}).Do()
			return err
		},
		"read a team's state":  func() error { _, err := objects.Objects.List("strata-local-strata-web").Do(); return err },
		"write a team's state": func() error { return write(objects, "strata-local-strata-web") },
	} {
		if err := call(); code(err) != 403 {
			t.Errorf("%s: want 403, got %v", what, err)
		}
	}
}
