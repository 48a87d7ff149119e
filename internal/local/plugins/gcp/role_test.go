package gcp_test

import (
	"strings"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

const (
	roleType = "gcp:projects/iAMCustomRole:IAMCustomRole"
	roleName = "projects/strata-local/roles/tenant"
)

func roleInputs(permissions ...string) property.Map {
	return props("roleId", "tenant", "title", "Tenant", "permissions", permissions)
}

func TestCustomRoleLife(t *testing.T) {
	newCloud(t)
	pl := newPlugin(t, property.Map{})
	inputs := roleInputs("cloudsql.users.list", "cloudsql.instances.get")
	o := pl.create(roleType, inputs)
	if o.id != roleName || o.state.Get("name").AsString() != roleName || o.state.Get("stage").AsString() != "GA" || o.state.Get("project").AsString() != project {
		t.Errorf("created %s with state %v", o.id, o.state)
	}
	if changes := pl.diff(pl.read(o), inputs); len(changes) > 0 {
		t.Errorf("an unchanged role has changes: %v", changes)
	}
	for _, id := range []string{roleName, "strata-local/tenant", "tenant"} {
		imported := pl.read(object{typ: roleType, id: id})
		if imported.id != o.id {
			t.Errorf("imported %q as %q", id, imported.id)
		}
	}
	if changes := pl.diff(o, inputs.Set("roleId", property.New("other"))); changes["roleId"] != p.UpdateReplace {
		t.Errorf("a new roleId causes %v, want a replacement", changes)
	}

	narrower := roleInputs("cloudsql.instances.get").Set("title", property.New("Reader")).Set("description", property.New("reads"))
	o = pl.update(o, narrower)
	if got := o.state; got.Get("title").AsString() != "Reader" || got.Get("description").AsString() != "reads" || got.Get("permissions").AsArray().Len() != 1 {
		t.Errorf("state after the update is %v", got)
	}
	o = pl.update(o, roleInputs("cloudsql.instances.get"))
	if got := o.state.Get("description").AsString(); got != "" {
		t.Errorf("the removed description is still %q", got)
	}
	pl.remove(o)
	if gone := pl.read(o); gone.id != "" {
		t.Error("the deleted role still exists")
	}
	pl.remove(o) // again, as after an interrupted delete
}

func TestCreatingADeletedCustomRoleUndeletesIt(t *testing.T) {
	newCloud(t)
	pl := newPlugin(t, property.Map{})
	o := pl.create(roleType, roleInputs("cloudsql.instances.get", "cloudsql.instances.delete").Set("description", property.New("old")))
	pl.remove(o)
	again := pl.create(roleType, roleInputs("cloudsql.instances.get"))
	if again.id != o.id {
		t.Errorf("ID is %q, want %q", again.id, o.id)
	}
	if got := pl.read(again).state; got.Get("permissions").AsArray().Len() != 1 || got.Get("description").AsString() != "" {
		t.Errorf("the undeleted role is %v, want the new inputs", got)
	}
}

func TestUpdatingADeletedCustomRoleUndeletesIt(t *testing.T) {
	newCloud(t)
	pl := newPlugin(t, property.Map{})
	o := pl.create(roleType, roleInputs("cloudsql.instances.get"))
	pl.remove(o)
	pl.update(o, roleInputs("cloudsql.instances.get", "cloudsql.users.list"))
	if got := pl.read(o).state.Get("permissions"); !got.IsArray() || got.AsArray().Len() != 2 {
		t.Errorf("permissions after the update are %v", got)
	}
}

func TestCreatingAnExistingCustomRoleFails(t *testing.T) {
	newCloud(t)
	pl := newPlugin(t, property.Map{})
	o := pl.create(roleType, roleInputs("cloudsql.instances.get"))
	_, err := pl.try(roleType, roleInputs("cloudsql.instances.delete"))
	if err == nil || !strings.Contains(err.Error(), "already exists: import it") {
		t.Errorf("error is %v", err)
	}
	if got := pl.read(o).state.Get("permissions").AsArray(); got.Len() != 1 || got.Get(0).AsString() != "cloudsql.instances.get" {
		t.Errorf("permissions are %v", got)
	}
}
