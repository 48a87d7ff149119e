package gcp_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
	"github.com/strata-platform/strata/internal/local/machine/dolt"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

const (
	instanceType = "gcp:sql/databaseInstance:DatabaseInstance"
	databaseType = "gcp:sql/database:Database"
	userType     = "gcp:sql/user:User"
)

// newDatabases returns a runtime with real database servers.
func newDatabases(t *testing.T) engine.Runtime {
	t.Helper()
	binary, dir := toolchaintest.Path(t, "dolt"), t.TempDir()
	return dolt.New(dolt.Options{
		Binary: func(context.Context) (string, error) { return binary, nil },
		Dir:    filepath.Join(dir, "sql"),
		Logs:   filepath.Join(dir, "logs"),
	})
}

// login logs in to a database and returns the error.
func login(t *testing.T, host, user, password, database string) error {
	t.Helper()
	config := mysql.NewConfig()
	config.User, config.Passwd, config.Net, config.Addr, config.DBName = user, password, "tcp", host+":3306", database
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return db.PingContext(t.Context())
}

func TestSQL(t *testing.T) {
	newCloudWith(t, newDatabases(t))
	pl := newPlugin(t, property.Map{})
	inputs := props("name", "strata", "databaseVersion", "MYSQL_8_0", "rootPassword", property.New("root-1").WithSecret(true),
		"settings", props("tier", "db-f1-micro", "userLabels", props("a", "1"), "ipConfiguration", props("ipv4Enabled", true)))
	instance := pl.create(instanceType, inputs)
	host := instance.state.Get("publicIpAddress").AsString()
	if host == "" || instance.state.Get("firstIpAddress").AsString() != host || instance.id != "strata" {
		t.Errorf("instance %q has the address %q", instance.id, host)
	}
	for _, name := range []string{"rootPassword", "serverCaCerts"} {
		if v, ok := instance.state.GetOk(name); ok && !v.Secret() {
			t.Errorf("%s is not secret", name)
		}
	}
	instance = pl.read(instance)
	if changes := pl.diff(instance, inputs); len(changes) > 0 {
		t.Errorf("an unchanged instance has changes: %v", changes)
	}
	if login(t, host, "root", "root-1", "") == nil {
		t.Error("the default user root still exists")
	}

	t.Run("only some changes replace an instance", func(t *testing.T) {
		for path, value := range map[string]any{"region": "europe-west4", "name": "other"} {
			if k := pl.diff(instance, inputs.Set(path, property.New(value.(string))))[path]; k != p.AddReplace && k != p.UpdateReplace {
				t.Errorf("a new %s causes %q, want a replacement", path, k)
			}
		}
		if k := pl.diff(instance, inputs.Set("databaseVersion", property.New("MYSQL_8_4")))["databaseVersion"]; k != p.Update {
			t.Errorf("a new version causes %q, want an update", k)
		}
	})

	database := pl.create(databaseType, props("instance", "strata", "name", "shop"))
	user := pl.create(userType, props("instance", "strata", "name", "shop", "host", "%", "password", property.New("first").WithSecret(true)))
	if user.id != "shop/%/strata" || database.id != "projects/strata-local/instances/strata/databases/shop" {
		t.Errorf("IDs are %q and %q", user.id, database.id)
	}
	if !user.state.Get("password").Secret() {
		t.Error("the password is not secret")
	}
	if err := login(t, host, "shop", "first", "shop"); err != nil {
		t.Error(err)
	}

	t.Run("a new password takes effect at once", func(t *testing.T) {
		user = pl.update(pl.read(user), user.inputs.Set("password", property.New("second").WithSecret(true)))
		if login(t, host, "shop", "first", "shop") == nil || login(t, host, "shop", "second", "shop") != nil {
			t.Error("the server accepts the old password, or rejects the new one")
		}
	})
	t.Run("an imported object has no changes", func(t *testing.T) {
		for typ, tc := range map[string]struct {
			id     string
			inputs property.Map
		}{
			instanceType: {"strata", inputs.Delete("rootPassword")},
			databaseType: {"strata/shop", database.inputs},
			userType:     {"strata-local/strata/%/shop", user.inputs.Delete("password")},
		} {
			imported := pl.read(object{typ: typ, id: tc.id})
			if changes := pl.diff(imported, tc.inputs.Delete("__defaults")); imported.id == "" || len(changes) > 0 {
				t.Errorf("%s imported as %q has changes %v", typ, imported.id, changes)
			}
		}
	})
	t.Run("functions look up objects", func(t *testing.T) {
		resp, err := pl.provider.Invoke(t.Context(), p.InvokeRequest{Token: "gcp:sql/getDatabaseInstance:getDatabaseInstance", Args: props("name", "strata")})
		if err != nil || resp.Return.Get("publicIpAddress").AsString() != host {
			t.Errorf("the instance: %v, %v", resp, err)
		}
		resp, err = pl.provider.Invoke(t.Context(), p.InvokeRequest{Token: "gcp:sql/getDatabase:getDatabase", Args: props("instance", "strata", "name", "shop")})
		if err != nil || resp.Return.Get("id").AsString() != database.id {
			t.Errorf("the database: %v, %v", resp, err)
		}
		_, err = pl.provider.Invoke(t.Context(), p.InvokeRequest{Token: "gcp:sql/getDatabase:getDatabase", Args: props("instance", "strata", "name", "none")})
		if err == nil || !strings.Contains(err.Error(), `database "none" of instance "strata"`) || strings.Contains(err.Error(), "\n") {
			t.Errorf("look up a missing database: %v", err)
		}
	})
	t.Run("settings change in place", func(t *testing.T) {
		settings := props("tier", "db-n1-standard-1", "userLabels", props("b", "2"), "ipConfiguration", props("ipv4Enabled", true))
		instance = pl.update(instance, inputs.Set("settings", property.New(settings)))
		live := pl.read(instance).state.Get("settings").AsMap()
		if labels := live.Get("userLabels").AsMap(); live.Get("tier").AsString() != "db-n1-standard-1" || labels.Len() != 1 || labels.Get("b").AsString() != "2" {
			t.Errorf("settings are %v", live)
		}
	})
	t.Run("deleted objects are missing", func(t *testing.T) {
		pl.remove(user)
		if pl.read(user).id != "" {
			t.Error("the user still exists")
		}
		if login(t, host, "shop", "second", "shop") == nil {
			t.Error("the server accepts a deleted user")
		}
		pl.remove(database)
		pl.remove(database)
	})
	t.Run("the plugin does not delete a protected instance", func(t *testing.T) {
		err := pl.provider.Delete(t.Context(), p.DeleteRequest{ID: instance.id, Urn: urn(instanceType, "it"), Properties: instance.state})
		if err == nil || !strings.Contains(err.Error(), "deletionProtection of the") {
			t.Errorf("delete: %v", err)
		}
		instance = pl.update(instance, instance.inputs.Set("deletionProtection", property.New(false)))
		pl.remove(instance)
		if pl.read(instance).id != "" {
			t.Error("the instance still exists")
		}
	})
}

func TestPostgres(t *testing.T) {
	newCloudWith(t, newDatabases(t))
	pl := newPlugin(t, property.Map{})
	pl.create(instanceType, fromJSON(t, `{"name": "strata", "databaseVersion": "POSTGRES_15", "settings": {"tier": "db-f1-micro"}}`))
	_, err := pl.try(userType, fromJSON(t, `{"name": "shop", "instance": "strata", "host": "%", "password": "first"}`))
	if err == nil || !strings.Contains(err.Error(), "only users of MySQL have a host") {
		t.Errorf("create a user with a host: %v", err)
	}
}
