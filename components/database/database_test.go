package database_test

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/database"
	"github.com/strata-platform/strata/internal/pulumitest"
)

const (
	databaseType = "gcp:sql/database:Database"
	userType     = "gcp:sql/user:User"
	passwordType = "random:index/randomPassword:RandomPassword"
	secretType   = "kubernetes:core/v1:Secret"
)

func engine() *pulumitest.Engine {
	return &pulumitest.Engine{
		Invoked: map[string]resource.PropertyMap{"gcp:sql/getDatabaseInstance:getDatabaseInstance": {
			"firstIpAddress": resource.NewProperty("203.0.113.8"), "connectionName": resource.NewProperty("acme-dev:europe-west1:strata"),
		}},
		Outputs: map[string]func(pulumi.MockResourceArgs) resource.PropertyMap{
			passwordType: func(pulumi.MockResourceArgs) resource.PropertyMap {
				return resource.PropertyMap{"result": resource.MakeSecret(resource.NewProperty("canary"))}
			},
		},
	}
}

func TestADatabaseHasAUserAndASecretOfItsOwn(t *testing.T) {
	e := engine()
	if err := e.Run("proj", "dev", orders); err != nil {
		t.Fatal(err)
	}
	component := e.Get(t, database.Type, "orders")
	made := map[string]pulumitest.Resource{
		"database": e.Get(t, databaseType, "orders-database"), "user": e.Get(t, userType, "orders-user"),
		"password": e.Get(t, passwordType, "orders-password"), "secret": e.Get(t, secretType, "orders-secret"),
	}
	for part, child := range made {
		if child.Parent != component.URN {
			t.Errorf("the %s is a child of %s", part, child.Parent)
		}
	}
	for _, want := range []struct {
		part, path string
		value      any
		secret     bool
	}{
		{"database", "name", "web_orders", false}, {"database", "instance", "strata", false},
		{"user", "name", "web_orders", false}, {"user", "host", "%", false}, {"user", "password", "canary", true},
		{"password", "length", 32.0, false}, {"password", "special", false, false},
		{"secret", "metadata.name", "orders", false}, {"secret", "metadata.namespace", "team-web", false}, {"secret", "metadata.labels.app", "shop", false},
		{"secret", "stringData.username", "web_orders", true}, {"secret", "stringData.password", "canary", true},
		{"secret", "stringData.database", "web_orders", true}, {"secret", "stringData.host", "203.0.113.8", true},
		{"secret", "stringData.connection", "acme-dev:europe-west1:strata", true}, {"secret", "stringData.port", "3306", true},
	} {
		if got, secret := pulumitest.Plain(t, made[want.part].Inputs, want.path); got != want.value || secret != want.secret {
			t.Errorf("the %s's %s is %v (secret: %v), want %v (%v)", want.part, want.path, got, secret, want.value, want.secret)
		}
	}
	for _, name := range []string{"database", "user", "password"} {
		if !made["secret"].DependsOn(made[name]) {
			t.Errorf("the Secret does not depend on the %s", name)
		}
	}
}

func TestAPreviewOfADatabaseSucceeds(t *testing.T) {
	e := engine()
	e.Preview = true
	if err := e.Run("proj", "dev", orders); err != nil {
		t.Error(err)
	}
}

func TestBadNamesAreRefused(t *testing.T) {
	for name, refused := range map[string]bool{
		"web_orders": false, "web": false, strings.Repeat("a", 32): false,
		strings.Repeat("a", 33): true, "web.orders": true, "web orders": true, "": true, "web`": true,
	} {
		err := engine().Run("proj", "dev", func(ctx *pulumi.Context) error {
			_, err := database.NewDatabase(ctx, "orders", &database.DatabaseArgs{Name: pulumi.String(name), Instance: pulumi.String("strata")})
			return err
		})
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "create database orders: name ") {
			t.Errorf("name %q: %v", name, err)
		}
	}
}
