package gcloud_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/iam/v1"
)

// compact returns JSON without its spaces.
func compact(t testing.TB, body string) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(body)); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return out.String()
}

func TestStaleEtagIsRefused(t *testing.T) {
	c := newCloud(t, false)
	projects := c.owner().projects.Projects
	stale, err := projects.GetIamPolicy(projectID, &crm.GetIamPolicyRequest{}).Do()
	if err != nil {
		t.Fatal(err)
	}
	c.grant("user:somebody@example.com", "roles/viewer")
	_, err = projects.SetIamPolicy(projectID, &crm.SetIamPolicyRequest{Policy: stale}).Do()
	refused(t, err, 409, "There were concurrent policy changes.", "aborted")
	now, err := projects.GetIamPolicy(projectID, &crm.GetIamPolicyRequest{}).Do()
	if err != nil {
		t.Fatal(err)
	}
	if !holds(now, "roles/viewer", "user:somebody@example.com") {
		t.Errorf("the refused policy was stored: %v", now.Bindings)
	}
}

func holds(policy *crm.Policy, role, member string) bool {
	return slices.ContainsFunc(policy.Bindings, func(b *crm.Binding) bool { return b.Role == role && slices.Contains(b.Members, member) })
}

func TestConcurrentWritersLoseNothing(t *testing.T) {
	const writers = 50
	c := newCloud(t, false)
	projects := c.owner().projects
	var group errgroup.Group
	for i := range writers {
		group.Go(func() error {
			for {
				err := addMember(projects, fmt.Sprintf("user:writer-%d@example.com", i), "roles/viewer")
				if code(err) != 409 {
					return err
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	policy, err := projects.Projects.GetIamPolicy(projectID, &crm.GetIamPolicyRequest{}).Do()
	if err != nil {
		t.Fatal(err)
	}
	for i := range writers {
		if member := fmt.Sprintf("user:writer-%d@example.com", i); !holds(policy, "roles/viewer", member) {
			t.Errorf("%s was lost", member)
		}
	}
	if !holds(policy, "roles/owner", "user:"+engineer) {
		t.Error("the owner was lost")
	}
}

func TestPolicyThatCannotBeEnforcedIsRefused(t *testing.T) {
	c := newCloud(t, false)
	projects := c.owner().projects.Projects
	for name, test := range map[string]struct {
		binding *crm.Binding
		want    string
	}{
		"role without a prefix":    {&crm.Binding{Role: "viewer", Members: []string{"user:a@example.com"}}, "Role viewer is not supported"},
		"custom role that is not":  {&crm.Binding{Role: "projects/strata-local/roles/none", Members: []string{"user:a@example.com"}}, "does not exist in the resource's hierarchy"},
		"member without a kind":    {&crm.Binding{Role: "roles/viewer", Members: []string{"a@example.com"}}, "Invalid member"},
		"account that is not":      {&crm.Binding{Role: "roles/viewer", Members: []string{"serviceAccount:none@strata-local.iam.gserviceaccount.com"}}, "Service account none@strata-local.iam.gserviceaccount.com does not exist."},
		"role that Google has not": {&crm.Binding{Role: "roles/cloudsql.amdin", Members: []string{"user:a@example.com"}}, "Role roles/cloudsql.amdin is not supported"},
		"everybody":                {&crm.Binding{Role: "roles/viewer", Members: []string{"allUsers"}}, "Members of type allUsers are not supported"},
		"pool that is not":         {&crm.Binding{Role: "roles/viewer", Members: []string{"serviceAccount:strata-local.svc.id.goog[team/default]"}}, "Identity Pool does not exist (strata-local.svc.id.goog)"},
		"owner without invitation": {&crm.Binding{Role: "roles/owner", Members: []string{"user:a@example.com"}}, "SOLO_MUST_INVITE_OWNERS"},
		"no owner":                 {&crm.Binding{Role: "roles/viewer", Members: []string{"user:a@example.com"}}, "SOLO_REQUIRE_TOS_ACCEPTOR"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := projects.SetIamPolicy(projectID, &crm.SetIamPolicyRequest{Policy: &crm.Policy{Bindings: []*crm.Binding{test.binding}}}).Do()
			refused(t, err, 400, test.want)
		})
	}
	if _, err := projects.Get(projectID).Do(); err != nil {
		t.Errorf("a refused policy took the owner's role away: %v", err)
	}
}

func TestAccountMadeAgainDoesNotInheritRoles(t *testing.T) {
	c := newCloud(t, false)
	email, _ := c.account("team-web", "roles/owner")
	if _, err := c.owner().iam.Projects.ServiceAccounts.Delete("projects/-/serviceAccounts/" + email).Do(); err != nil {
		t.Fatal(err)
	}
	policy, err := c.owner().projects.Projects.GetIamPolicy(projectID, &crm.GetIamPolicyRequest{}).Do()
	if err != nil {
		t.Fatal(err)
	}
	retired := slices.ContainsFunc(policy.Bindings, func(b *crm.Binding) bool {
		return slices.ContainsFunc(b.Members, func(m string) bool { return strings.HasPrefix(m, "deleted:serviceAccount:"+email+"?uid=") })
	})
	if !retired {
		t.Errorf("the deleted account is not marked: %v", policy.Bindings)
	}
	_, key := c.account("team-web")
	_, err = c.as(key).projects.Projects.Get(projectID).Do()
	refused(t, err, 403, "resourcemanager.projects.get")
}

func TestServiceAccountLifecycle(t *testing.T) {
	c := newCloud(t, false)
	accounts := c.owner().iam.Projects.ServiceAccounts
	name := "projects/" + projectID + "/serviceAccounts/team-web@" + projectID + ".iam.gserviceaccount.com"
	_, err := accounts.Get(name).Do()
	refused(t, err, 404, "Unknown service account")
	made, err := accounts.Create("projects/"+projectID, &iam.CreateServiceAccountRequest{
		AccountId: "team-web", ServiceAccount: &iam.ServiceAccount{DisplayName: "Web"},
	}).Do()
	if err != nil {
		t.Fatal(err)
	}
	if made.Name != name || made.DisplayName != "Web" || len(made.UniqueId) != 21 {
		t.Errorf("made %+v", made)
	}
	_, err = accounts.Create("projects/"+projectID, &iam.CreateServiceAccountRequest{AccountId: "team-web"}).Do()
	refused(t, err, 409, "already exists")
	if _, err := accounts.Patch(name, &iam.PatchServiceAccountRequest{
		ServiceAccount: &iam.ServiceAccount{DisplayName: "New", Description: "ignored"}, UpdateMask: "display_name",
	}).Do(); err != nil {
		t.Fatal(err)
	}
	found, err := accounts.Get("projects/-/serviceAccounts/" + made.UniqueId).Do()
	if err != nil || found.DisplayName != "New" || found.Description != "" {
		t.Errorf("found %+v, %v", found, err)
	}
	_, err = accounts.Get("projects/another-project/serviceAccounts/" + made.Email).Do()
	if code(err) != 404 && code(err) != 403 {
		t.Errorf("found through another project: %v", err)
	}
}

func TestKeysOfAnAccountAreLimited(t *testing.T) {
	c := newCloud(t, false)
	email, _ := c.account("team-web") // has one key
	keys := c.owner().iam.Projects.ServiceAccounts.Keys
	for range 9 {
		made, err := keys.Create("projects/-/serviceAccounts/"+email, &iam.CreateServiceAccountKeyRequest{}).Do()
		if err != nil {
			t.Fatal(err)
		}
		found, err := keys.Get(made.Name).PublicKeyType("TYPE_X509_PEM_FILE").Do()
		if err != nil || found.PrivateKeyData != "" || found.PublicKeyData == "" {
			t.Errorf("read back %+v, %v; want the public half only", found, err)
		}
	}
	_, err := keys.Create("projects/-/serviceAccounts/"+email, &iam.CreateServiceAccountKeyRequest{}).Do()
	refused(t, err, 429, "Maximum number of keys")
	all, err := keys.List("projects/-/serviceAccounts/" + email).KeyTypes("USER_MANAGED").Do()
	if err != nil || len(all.Keys) != 10 {
		t.Errorf("list %v, %v; want 10 keys", all, err)
	}
}

func TestDisabledAPIRefusesItsCalls(t *testing.T) {
	c := newCloud(t, false)
	owner := c.owner()
	name := "projects/" + projectID + "/services/container.googleapis.com"
	list := func() error {
		_, err := owner.container.Projects.Locations.Clusters.List(parent).Do()
		return err
	}
	if _, err := owner.services.Services.Disable(name, nil).Do(); err != nil {
		t.Fatal(err)
	}
	refused(t, list(), 403, "Kubernetes Engine API has not been used in project", "SERVICE_DISABLED", "accessNotConfigured")
	found, err := owner.services.Services.Get(name).Do()
	if err != nil || found.State != "DISABLED" {
		t.Errorf("state %v, %v; want DISABLED", found, err)
	}
	op, err := owner.services.Services.Enable(name, nil).Do()
	if err != nil || !op.Done {
		t.Errorf("enable: %v, %v; want a done operation", op, err)
	}
	if err := list(); err != nil {
		t.Errorf("after it was enabled: %v", err)
	}
}

func TestCustomRoleGrantsWhatItListsWhileItLasts(t *testing.T) {
	c := newCloud(t, false)
	roles := c.owner().iam.Projects.Roles
	const name = "projects/" + projectID + "/roles/tenant"
	create := &iam.CreateRoleRequest{RoleId: "tenant", Role: &iam.Role{Title: "Tenant", IncludedPermissions: []string{"cloudsql.instances.get"}}}
	if _, err := roles.Create("projects/"+projectID, create).Do(); err != nil {
		t.Fatal(err)
	}
	_, err := roles.Create("projects/"+projectID, create).Do()
	refused(t, err, 409, "already exists")
	_, key := c.account("team-web", name)
	tenant := c.as(key)
	get := func() int {
		_, err := tenant.sql.Instances.Get(projectID, "none").Do()
		return code(err)
	}
	list := func() int {
		_, err := tenant.sql.Instances.List(projectID).Do()
		return code(err)
	}
	if get() != 404 || list() != 403 {
		t.Errorf("get is answered with %d and list with %d; want 404 and 403", get(), list())
	}
	_, err = roles.Patch(name, &iam.Role{IncludedPermissions: []string{"cloudsql.instances.list"}}).UpdateMask("includedPermissions").Do()
	if err != nil {
		t.Fatal(err)
	}
	if get() != 403 || list() != 200 {
		t.Errorf("after the patch get is answered with %d and list with %d; want 403 and 200", get(), list())
	}
	if _, err := roles.Delete(name).Do(); err != nil {
		t.Fatal(err)
	}
	if list() != 403 {
		t.Errorf("the deleted role still grants: %d", list())
	}
	_, err = roles.Create("projects/"+projectID, create).Do()
	refused(t, err, 400, "in a deleted state")
	_, err = roles.Patch(name, &iam.Role{Title: "New"}).UpdateMask("title").Do()
	refused(t, err, 400, "marked for deletion")
	_, err = roles.Delete(name).Do()
	refused(t, err, 400, "already marked for deletion")
	if err := addMember(c.owner().projects, "user:a@example.com", "roles/viewer"); err != nil {
		t.Errorf("the binding of the deleted role stands in the way of others: %v", err)
	}
	refused(t, addMember(c.owner().projects, "user:a@example.com", name), 400, "does not exist in the resource's hierarchy")
	if _, err := roles.Undelete(name, &iam.UndeleteRoleRequest{}).Do(); err != nil {
		t.Fatal(err)
	}
	found, err := roles.Get(name).Do()
	if err != nil || found.Title != "Tenant" || list() != 200 {
		t.Errorf("after the undelete: %+v, %v, list is answered with %d", found, err, list())
	}
}
