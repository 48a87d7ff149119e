package cloud_test

import (
	"net/http"
	"strings"
	"testing"

	"google.golang.org/api/iam/v1"
	"google.golang.org/api/sqladmin/v1beta4"
)

// tenantPermissions are a team's permissions on the shared instance. Layer 1 creates a role with these permissions.
var tenantPermissions = []string{
	"cloudsql.databases.create", "cloudsql.databases.delete", "cloudsql.databases.get", "cloudsql.databases.list", "cloudsql.databases.update",
	"cloudsql.instances.connect", "cloudsql.instances.get",
	"cloudsql.users.create", "cloudsql.users.delete", "cloudsql.users.get", "cloudsql.users.list", "cloudsql.users.update",
}

// tenants returns clients of teams with layer 1's permissions on the instance.
func (c *emulator) tenants(names ...string) []*clients {
	c.t.Helper()
	_, err := c.owner().iam.Projects.Roles.Create("projects/"+projectID, &iam.CreateRoleRequest{
		RoleId: "tenant", Role: &iam.Role{Stage: "GA", IncludedPermissions: tenantPermissions},
	}).Do()
	if err != nil {
		c.t.Fatal(err)
	}
	var made []*clients
	for _, name := range names {
		_, key := c.account("team-"+name, "projects/"+projectID+"/roles/tenant")
		made = append(made, c.as(key))
	}
	return made
}

const webAccount = "team-web@strata-local.iam.gserviceaccount.com"

// sqlChange is an attempted change of a database or a user of an instance.
type sqlChange struct {
	name string
	code int
	do   func(*sqladmin.Service, string) (*sqladmin.Operation, error)
}

// takeovers are team hr's attempts to change what team web created.
func takeovers() []sqlChange {
	user := func(name, host string) *sqladmin.User {
		return &sqladmin.User{Name: name, Host: host, Password: "taken"}
	}
	insert := func(name, host string) func(*sqladmin.Service, string) (*sqladmin.Operation, error) {
		return func(svc *sqladmin.Service, on string) (*sqladmin.Operation, error) {
			return svc.Users.Insert(projectID, on, user(name, host)).Do()
		}
	}
	return []sqlChange{
		{"database made again", 409, func(svc *sqladmin.Service, on string) (*sqladmin.Operation, error) {
			return svc.Databases.Insert(projectID, on, &sqladmin.Database{Name: "web"}).Do()
		}},
		{"database made again in other letters", 409, func(svc *sqladmin.Service, on string) (*sqladmin.Operation, error) {
			return svc.Databases.Insert(projectID, on, &sqladmin.Database{Name: "WEB"}).Do()
		}},
		{"database changed", 403, func(svc *sqladmin.Service, on string) (*sqladmin.Operation, error) {
			return svc.Databases.Patch(projectID, on, "web", &sqladmin.Database{Charset: "utf8mb4"}).Do()
		}},
		{"database changed without a change", 403, func(svc *sqladmin.Service, on string) (*sqladmin.Operation, error) {
			return svc.Databases.Update(projectID, on, "web", &sqladmin.Database{}).Do()
		}},
		{"database dropped", 403, func(svc *sqladmin.Service, on string) (*sqladmin.Operation, error) {
			return svc.Databases.Delete(projectID, on, "web").Do()
		}},
		{"user made again", 409, insert("web", "")},
		{"user made again in other letters", 409, insert("Web", "")},
		{"user given a password", 403, func(svc *sqladmin.Service, on string) (*sqladmin.Operation, error) {
			return svc.Users.Update(projectID, on, &sqladmin.User{Password: "taken"}).Name("web").Do()
		}},
		{"user named in the body given a password", 403, func(svc *sqladmin.Service, on string) (*sqladmin.Operation, error) {
			return svc.Users.Update(projectID, on, &sqladmin.User{Name: "web", Password: "taken"}).Do()
		}},
		{"user dropped", 403, func(svc *sqladmin.Service, on string) (*sqladmin.Operation, error) {
			return svc.Users.Delete(projectID, on).Name("web").Do()
		}},
	}
}

// ofRoot are attempts to take over the root user of a family, who belongs to the instance.
func ofRoot(root string) []sqlChange {
	return []sqlChange{
		{"root made again", 409, func(svc *sqladmin.Service, on string) (*sqladmin.Operation, error) {
			return svc.Users.Insert(projectID, on, &sqladmin.User{Name: root, Password: "taken"}).Do()
		}},
		{"root given a password", 403, func(svc *sqladmin.Service, on string) (*sqladmin.Operation, error) {
			return svc.Users.Update(projectID, on, &sqladmin.User{Password: "taken"}).Name(root).Do()
		}},
		{"root dropped", 403, func(svc *sqladmin.Service, on string) (*sqladmin.Operation, error) {
			return svc.Users.Delete(projectID, on).Name(root).Do()
		}},
	}
}

// makeOwn creates a database and a user of the same name.
func (c *emulator) makeOwn(of *clients, on, name string) {
	c.t.Helper()
	op, err := of.sql.Databases.Insert(projectID, on, &sqladmin.Database{Name: name}).Do()
	c.waitSQL(of, op, err)
	op, err = of.sql.Users.Insert(projectID, on, &sqladmin.User{Name: name, Password: name}).Do()
	c.waitSQL(of, op, err)
}

func TestATeamCannotTakeOverResourcesOfAnother(t *testing.T) {
	c := newEmulator(t, false)
	c.unservedInstance()
	teams := c.tenants("web", "hr")
	web, hr := teams[0], teams[1]
	c.makeOwn(web, "unserved", "web")
	check := func() {
		t.Helper()
		before := fingerprintOf(t, c)
		for _, takeover := range takeovers() {
			_, err := takeover.do(hr.sql, "unserved")
			refused(t, err, takeover.code, " belongs to "+webAccount)
		}
		for _, takeover := range ofRoot("postgres") {
			_, err := takeover.do(hr.sql, "unserved")
			refused(t, err, takeover.code, "postgres belongs to the administrators of the instance")
		}
		if fingerprintOf(t, c) != before {
			t.Error("a rejected attempt has changed the instance")
		}
	}
	check()
	c.restart(false)
	check()

	// The owner may change and recreate the owner's names. An administrator of the instance may change everything.
	op, err := web.sql.Users.Insert(projectID, "unserved", &sqladmin.User{Name: "web", Password: "again"}).Do()
	c.waitSQL(web, op, err)
	for _, of := range []*clients{web, c.owner()} {
		op, err = of.sql.Users.Update(projectID, "unserved", &sqladmin.User{Password: "new"}).Name("web").Do()
		c.waitSQL(of, op, err)
		op, err = of.sql.Databases.Patch(projectID, "unserved", "web", &sqladmin.Database{Charset: "UTF8"}).Do()
		c.waitSQL(of, op, err)
	}
	check() // the owner is still team web

	// A name without a database or user is available again.
	op, err = web.sql.Databases.Delete(projectID, "unserved", "web").Do()
	c.waitSQL(web, op, err)
	op, err = c.owner().sql.Users.Delete(projectID, "unserved").Name("web").Do()
	c.waitSQL(c.owner(), op, err)
	c.makeOwn(hr, "unserved", "web")
	_, err = web.sql.Databases.Delete(projectID, "unserved", "web").Do()
	refused(t, err, 403, "belongs to team-hr@")
}

// TestNamesOfADeletedInstanceHaveNoOwner deletes an instance and creates it again.
func TestNamesOfADeletedInstanceHaveNoOwner(t *testing.T) {
	c := newEmulator(t, false)
	c.unservedInstance()
	teams := c.tenants("web", "hr")
	c.makeOwn(teams[0], "unserved", "web")
	op, err := c.owner().sql.Instances.Delete(projectID, "unserved").Do()
	c.waitSQL(c.owner(), op, err)
	c.unservedInstance()
	c.makeOwn(teams[1], "unserved", "web")
}

// TestFailedCreationReservesNoName checks that a creation that the engine rejects leaves no owner.
func TestFailedCreationReservesNoName(t *testing.T) {
	c := newEmulator(t, false)
	c.unservedInstance()
	teams := c.tenants("web", "hr")
	_, err := teams[0].sql.Databases.Insert(projectID, "unserved", &sqladmin.Database{Name: "postgres"}).Do()
	refused(t, err, http.StatusBadRequest, "already exists")
	c.ForgetOwners(t, projectID+"/unserved") // like the store of an earlier version
	if _, err := teams[0].sql.Databases.Delete(projectID, "unserved", "postgres").Do(); err != nil {
		t.Error(err)
	}
}

// TestStoreOfAnEarlierVersion changes databases and users without owners. The first caller who changes one becomes its
// owner.
func TestStoreOfAnEarlierVersion(t *testing.T) {
	c := newEmulator(t, false)
	c.unservedInstance()
	teams := c.tenants("web", "hr")
	c.makeOwn(teams[0], "unserved", "web")
	c.ForgetOwners(t, projectID+"/unserved")
	c.restart(false)
	if _, err := teams[1].sql.Users.Update(projectID, "unserved", &sqladmin.User{Password: "x"}).Name("postgres").Do(); err == nil || !strings.Contains(err.Error(), "administrators") {
		t.Errorf("the root user of an earlier version: %v", err)
	}
	op, err := c.owner().sql.Users.Update(projectID, "unserved", &sqladmin.User{Password: "x"}).Name("web").Do()
	c.waitSQL(c.owner(), op, err) // an administrator does not become the owner
	op, err = teams[0].sql.Users.Update(projectID, "unserved", &sqladmin.User{Password: "x"}).Name("web").Do()
	c.waitSQL(teams[0], op, err)
	_, err = teams[1].sql.Users.Delete(projectID, "unserved").Name("web").Do()
	refused(t, err, 403, webAccount)
	op, err = teams[0].sql.Databases.Delete(projectID, "unserved", "web").Do()
	c.waitSQL(teams[0], op, err)
}
