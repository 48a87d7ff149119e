package gcp_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

func TestServiceAccount(t *testing.T) {
	newCloud(t)
	pl := newPlugin(t, property.Map{})
	o := pl.create(accountType, props("accountId", "team-web", "displayName", "Web"))
	if want := "projects/strata-local/serviceAccounts/team-web@strata-local.iam.gserviceaccount.com"; o.id != want {
		t.Errorf("ID is %q, want %q", o.id, want)
	}
	if got := o.state.Get("member").AsString(); got != "serviceAccount:team-web@strata-local.iam.gserviceaccount.com" {
		t.Errorf("member is %q", got)
	}
	if changes := pl.diff(o, props("accountId", "team-web", "displayName", "Web", "project", project)); len(changes) > 0 {
		t.Errorf("setting the provider's project causes changes: %v", changes)
	}
	if changes := pl.diff(o, props("accountId", "team-api", "displayName", "Web")); changes["accountId"] != p.UpdateReplace {
		t.Errorf("a new accountId causes %v, want a replacement", changes)
	}

	o = pl.update(o, props("accountId", "team-web", "description", "of a team", "disabled", true))
	if got := o.state; got.Get("description").AsString() != "of a team" || !got.Get("disabled").AsBool() || got.Get("displayName").AsString() != "" {
		t.Errorf("state after the update is %v", got)
	}
	imported := pl.read(object{typ: accountType, id: "team-web@strata-local.iam.gserviceaccount.com"})
	if imported.id != o.id {
		t.Errorf("imported ID is %q, want %q", imported.id, o.id)
	}
	if changes := pl.diff(imported, props("accountId", "team-web", "description", "of a team", "disabled", true)); len(changes) > 0 {
		t.Errorf("an imported account has changes: %v", changes)
	}
	pl.remove(o)
	if gone := pl.read(o); gone.id != "" {
		t.Error("the account still exists")
	}
}

func TestKeyIsSecretAndSurvivesARefresh(t *testing.T) {
	newCloud(t)
	pl := newPlugin(t, property.Map{})
	account := pl.create(accountType, props("accountId", "team-web"))
	key := pl.create(keyType, props("serviceAccountId", account.id))
	private := key.state.Get("privateKey")
	if !private.Secret() || private.AsString() == "" {
		t.Error("the private key is empty or not secret")
	}
	again := pl.read(key)
	if v := again.state.Get("privateKey"); !v.Secret() || v.AsString() != private.AsString() {
		t.Error("a refresh lost the private key")
	}
	if changes := pl.diff(again, props("serviceAccountId", account.id)); len(changes) > 0 {
		t.Errorf("an unchanged key has changes: %v", changes)
	}
	if changes := pl.diff(again, props("serviceAccountId", account.id, "keepers", props("month", "may"))); changes["keepers"] != p.AddReplace {
		t.Errorf("a new keeper causes %v, want a replacement", changes)
	}
	pl.remove(key)
	if _, err := pl.as(key).try(accountType, props("accountId", "team-api")); err == nil {
		t.Error("the emulator accepts a deleted key")
	}
}

func TestErrorsContainTheMissingPermission(t *testing.T) {
	newCloud(t)
	pl := newPlugin(t, property.Map{})
	account := pl.create(accountType, props("accountId", "team-web"))
	team := pl.as(pl.create(keyType, props("serviceAccountId", account.id)))
	admin := pl.create(memberType, props("project", project, "role", "roles/iam.serviceAccountAdmin", "member", account.state.Get("member")))

	o, err := team.try(accountType, props("accountId", "helper-of-web"))
	if err != nil {
		t.Fatal(err)
	}
	team.remove(o)
	_, err = team.try(clusterType, props("name", "own", "initialNodeCount", 1.0))
	if err == nil || !strings.Contains(err.Error(), "container.clusters.create") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error is %v, want one line with the permission", err)
	}
	pl.remove(admin)
	_, err = team.try(accountType, props("accountId", "helper-of-web"))
	if err == nil || !strings.Contains(err.Error(), "iam.serviceAccounts.create") || !strings.Contains(err.Error(), "403") {
		t.Errorf("error without the role is %v, want the permission in it", err)
	}
}

func TestConcurrentWritersLoseNoMember(t *testing.T) {
	newCloud(t)
	pl := newPlugin(t, property.Map{})
	const writers = 50
	objects := make([]object, writers)
	var wait sync.WaitGroup
	for i := range writers {
		wait.Go(func() {
			o, err := pl.try(memberType, props("project", project, "role", "roles/viewer", "member", fmt.Sprintf("user:u%d@example.com", i)))
			if err != nil {
				t.Error(err)
			}
			objects[i] = o
		})
	}
	wait.Wait()
	for i, o := range objects {
		if o.id != "" && pl.read(o).id == "" {
			t.Errorf("member %d is missing", i)
		}
	}
}

func TestMemberLife(t *testing.T) {
	newCloud(t)
	pl := newPlugin(t, property.Map{})
	account := pl.create(accountType, props("accountId", "team-web"))
	inputs := props("serviceAccountId", account.id, "role", "roles/iam.serviceAccountUser", "member", "user:a@example.com")
	o := pl.create(actAsType, inputs)
	other := pl.create(actAsType, inputs.Set("member", property.New("user:b@example.com")))
	imported := pl.read(object{typ: actAsType, id: account.id + " roles/iam.serviceAccountUser user:a@example.com"})
	if changes := pl.diff(imported, inputs); imported.id != o.id || len(changes) > 0 {
		t.Errorf("imported %q with changes %v", imported.id, changes)
	}
	pl.remove(other)
	if pl.read(other).id != "" || pl.read(o).id == "" {
		t.Error("after one of two members was removed, want only the other")
	}
	if changes := pl.diff(o, inputs.Set("role", property.New("roles/viewer"))); changes["role"] != p.UpdateReplace {
		t.Errorf("a new role causes %v, want a replacement", changes)
	}
}

func TestBindingRemovesOtherMembers(t *testing.T) {
	newCloud(t)
	pl := newPlugin(t, property.Map{})
	account := pl.create(accountType, props("accountId", "team-web"))
	const role = "roles/iam.serviceAccountUser"
	other := pl.create(actAsType, props("serviceAccountId", account.id, "role", role, "member", "user:other@example.com"))
	o := pl.create(bindingType, props("serviceAccountId", account.id, "role", role, "members", []string{"user:b@example.com", "user:a@example.com"}))
	if pl.read(other).id != "" {
		t.Error("a member outside the binding still has the role")
	}
	again := pl.read(o)
	if changes := pl.diff(again, o.inputs); len(changes) > 0 {
		t.Errorf("an unchanged binding has changes: %v", slices.Sorted(maps.Keys(changes)))
	}
	o = pl.update(again, props("serviceAccountId", account.id, "role", role, "members", []string{"user:a@example.com"}))
	if n := pl.read(o).state.Get("members").AsArray().Len(); n != 1 {
		t.Errorf("the binding has %d members, want 1", n)
	}
	pl.remove(o)
	if n := pl.read(o).state.Get("members").AsArray().Len(); n != 0 {
		t.Errorf("the removed binding has %d members", n)
	}
}
