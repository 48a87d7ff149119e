package cloud_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/api/iam/v1"
)

const tenantRole = "projects/" + projectID + "/roles/tenant"

func TestCustomRoleGrantsItsPermissionsUntilItsDeletion(t *testing.T) {
	c := newEmulator(t, false)
	roles := c.owner().iam.Projects.Roles
	const name = tenantRole
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
		t.Errorf("the status of get is %d and of list %d; want 404 and 403", get(), list())
	}
	_, err = roles.Patch(name, &iam.Role{IncludedPermissions: []string{"cloudsql.instances.list"}}).UpdateMask("includedPermissions").Do()
	if err != nil {
		t.Fatal(err)
	}
	if get() != 403 || list() != 200 {
		t.Errorf("after the patch, the status of get is %d and of list %d; want 403 and 200", get(), list())
	}
	if _, err := roles.Delete(name).Do(); err != nil {
		t.Fatal(err)
	}
	if list() != 403 {
		t.Errorf("the deleted role still grants a permission: %d", list())
	}
	_, err = roles.Create("projects/"+projectID, create).Do()
	refused(t, err, 400, "in a deleted state")
	_, err = roles.Patch(name, &iam.Role{Title: "New"}).UpdateMask("title").Do()
	refused(t, err, 400, "marked for deletion")
	_, err = roles.Delete(name).Do()
	refused(t, err, 400, "already marked for deletion")
	if err := addMember(c.owner().projects, "user:a@example.com", "roles/viewer"); err != nil {
		t.Errorf("set a policy with the binding of a deleted role: %v", err)
	}
	refused(t, addMember(c.owner().projects, "user:a@example.com", name), 400, "does not exist in the resource's hierarchy")
	if _, err := roles.Undelete(name, &iam.UndeleteRoleRequest{}).Do(); err != nil {
		t.Fatal(err)
	}
	found, err := roles.Get(name).Do()
	if err != nil || found.Title != "Tenant" || list() != 200 {
		t.Errorf("after the undelete: %+v, %v, the status of list is %d", found, err, list())
	}
}

func TestInvalidCustomRolesAreRejected(t *testing.T) {
	c := newEmulator(t, false)
	roles := c.owner().iam.Projects.Roles
	for name, test := range map[string]struct {
		request *iam.CreateRoleRequest
		want    string
	}{
		"short id":             {&iam.CreateRoleRequest{RoleId: "ab"}, "role_id"},
		"id with a slash":      {&iam.CreateRoleRequest{RoleId: "a/b/c"}, "role_id"},
		"misspelt permission":  {&iam.CreateRoleRequest{RoleId: "abc", Role: &iam.Role{IncludedPermissions: []string{"cloudsql.instance.get"}}}, "Permission cloudsql.instance.get is not valid."},
		"no permission at all": {&iam.CreateRoleRequest{RoleId: "abc", Role: &iam.Role{IncludedPermissions: []string{"everything"}}}, "Permission everything is not valid."},
		"list of projects":     {&iam.CreateRoleRequest{RoleId: "abc", Role: &iam.Role{IncludedPermissions: []string{"resourcemanager.projects.list"}}}, "Permission resourcemanager.projects.list is not valid."},
		"folders":              {&iam.CreateRoleRequest{RoleId: "abc", Role: &iam.Role{IncludedPermissions: []string{"resourcemanager.folders.get"}}}, "Permission resourcemanager.folders.get is not valid."},
		"stage":                {&iam.CreateRoleRequest{RoleId: "abc", Role: &iam.Role{Stage: "FINAL"}}, "role.stage"},
		"long title":           {&iam.CreateRoleRequest{RoleId: "abc", Role: &iam.Role{Title: strings.Repeat("x", 101)}}, "title"},
		"long description":     {&iam.CreateRoleRequest{RoleId: "abc", Role: &iam.Role{Description: strings.Repeat("x", 301)}}, "description"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := roles.Create("projects/"+projectID, test.request).Do()
			refused(t, err, 400, test.want)
		})
	}
	all, err := roles.List("projects/" + projectID).Do()
	if err != nil || len(all.Roles) != 0 {
		t.Errorf("roles are %v, %v; want none", all, err)
	}
}

func TestOutdatedEtagDoesNotChangeACustomRole(t *testing.T) {
	c := newEmulator(t, false)
	roles := c.owner().iam.Projects.Roles
	made, err := roles.Create("projects/"+projectID, &iam.CreateRoleRequest{RoleId: "tenant", Role: &iam.Role{
		IncludedPermissions: []string{"cloudsql.users.list", "cloudsql.users.get", "cloudsql.users.list"},
	}}).Do()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"cloudsql.users.get", "cloudsql.users.list"}; made.Stage != "ALPHA" || !slices.Equal(made.IncludedPermissions, want) {
		t.Errorf("created %+v; want the stage ALPHA and %v", made, want)
	}
	changed, err := roles.Patch(tenantRole, &iam.Role{Etag: made.Etag, Title: "Tenant"}).UpdateMask("title").Do()
	if err != nil || changed.Etag == made.Etag {
		t.Fatalf("changed to %+v, %v; want another etag", changed, err)
	}
	_, err = roles.Patch(tenantRole, &iam.Role{Etag: made.Etag, Title: "Late"}).UpdateMask("title").Do()
	refused(t, err, 409, "concurrent changes", "aborted")
	_, err = roles.Delete(tenantRole).Etag(made.Etag).Do()
	refused(t, err, 409, "concurrent changes")
	_, err = roles.Patch(tenantRole, &iam.Role{Name: "x"}).UpdateMask("name").Do()
	refused(t, err, 400, "update_mask")
	_, err = roles.Patch(tenantRole, &iam.Role{Stage: "NEW"}).UpdateMask("stage").Do()
	refused(t, err, 400, "role.stage")
	// Without a mask, the patch replaces all fields.
	whole, err := roles.Patch(tenantRole, &iam.Role{Description: "For tenants.", IncludedPermissions: []string{"cloudsql.users.get"}}).Do()
	if err != nil || whole.Title != "" || whole.Description != "For tenants." || len(whole.IncludedPermissions) != 1 || whole.Stage != "ALPHA" {
		t.Errorf("patched to %+v, %v", whole, err)
	}
}

func TestDisabledStageGrantsNothing(t *testing.T) {
	c := newEmulator(t, false)
	roles := c.owner().iam.Projects.Roles
	_, err := roles.Create("projects/"+projectID, &iam.CreateRoleRequest{RoleId: "tenant", Role: &iam.Role{
		Stage: "GA", IncludedPermissions: []string{"resourcemanager.projects.get"},
	}}).Do()
	if err != nil {
		t.Fatal(err)
	}
	_, key := c.account("team-web", tenantRole)
	caller := c.as(key).projects.Projects
	if _, err := caller.Get(projectID).Do(); err != nil {
		t.Fatal(err)
	}
	if _, err := roles.Patch(tenantRole, &iam.Role{Stage: "DISABLED"}).UpdateMask("stage").Do(); err != nil {
		t.Fatal(err)
	}
	_, err = caller.Get(projectID).Do()
	refused(t, err, 403, "resourcemanager.projects.get")
}

func TestIDOfADeletedRoleIsReservedForATime(t *testing.T) {
	c := newEmulator(t, false)
	create := &iam.CreateRoleRequest{RoleId: "tenant"}
	roles := c.owner().iam.Projects.Roles
	if _, err := roles.Create("projects/"+projectID, create).Do(); err != nil {
		t.Fatal(err)
	}
	if _, err := roles.Delete(tenantRole).Do(); err != nil {
		t.Fatal(err)
	}
	visible := func(all *iam.ListRolesResponse, err error) int {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return len(all.Roles)
	}
	if n := visible(roles.List("projects/" + projectID).Do()); n != 0 {
		t.Errorf("%d roles are listed; want none", n)
	}
	if n := visible(roles.List("projects/" + projectID).ShowDeleted(true).Do()); n != 1 {
		t.Errorf("%d roles are listed with the deleted ones; want one", n)
	}

	// The owner's access token has expired now, so the test needs new clients.
	c.SetClock(func() time.Time { return time.Now().Add(8 * 24 * time.Hour) })
	roles = c.owner().iam.Projects.Roles
	_, err := roles.Undelete(tenantRole, &iam.UndeleteRoleRequest{}).Do()
	refused(t, err, 400, "7 days")
	_, err = roles.Create("projects/"+projectID, create).Do()
	refused(t, err, 400, "in a deleted state")

	c.SetClock(func() time.Time { return time.Now().Add(38 * 24 * time.Hour) })
	roles = c.owner().iam.Projects.Roles
	_, err = roles.Get(tenantRole).Do()
	refused(t, err, 404, "was not found")
	if _, err := roles.Create("projects/"+projectID, create).Do(); err != nil {
		t.Error(err)
	}
	if n := visible(roles.List("projects/" + projectID).Do()); n != 1 {
		t.Errorf("%d roles are listed; want the new one", n)
	}
}

func TestPredefinedRoleHasItsPermissions(t *testing.T) {
	c := newEmulator(t, false)
	_, key := c.account("nobody")
	roles := c.as(key).iam.Roles
	found, err := roles.Get("roles/container.clusterViewer").Do()
	want := []string{"container.clusters.connect", "container.clusters.get", "container.clusters.list", "resourcemanager.projects.get", "resourcemanager.projects.list"}
	if err != nil || found.Title != "Kubernetes Engine Cluster Viewer" || found.Stage != "GA" || !slices.Equal(found.IncludedPermissions, want) {
		t.Errorf("found %+v, %v; want %v", found, err, want)
	}
	_, err = roles.Get("roles/container.none").Do()
	refused(t, err, 404, "roles/container.none")
}
