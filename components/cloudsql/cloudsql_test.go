package cloudsql_test

import (
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/cloudsql"
	"github.com/strata-platform/strata/internal/pulumitest"
)

const instanceType = "gcp:sql/databaseInstance:DatabaseInstance"

func run(engine *pulumitest.Engine, args *cloudsql.Args) error {
	return engine.Run("proj", "dev", func(ctx *pulumi.Context) error {
		instance, err := cloudsql.New(ctx, "strata", args)
		if err != nil {
			return err
		}
		ctx.Export("name", instance.Name)
		ctx.Export("address", instance.Address)
		return nil
	})
}

func TestAnInstanceIsProtectedAndBackedUpByDefault(t *testing.T) {
	engine := &pulumitest.Engine{Outputs: map[string]func(pulumi.MockResourceArgs) resource.PropertyMap{
		instanceType: func(pulumi.MockResourceArgs) resource.PropertyMap {
			return resource.PropertyMap{"firstIpAddress": resource.NewProperty("10.0.0.3")}
		},
	}}
	err := run(engine, &cloudsql.Args{Name: "strata", Project: pulumi.String("acme"), Region: pulumi.String("europe-west1")})
	if err != nil {
		t.Fatal(err)
	}
	instance := engine.Get(t, instanceType, "strata-instance")
	if want := engine.Get(t, cloudsql.Type, "strata").URN; instance.Parent != want {
		t.Errorf("parent is %s, want %s", instance.Parent, want)
	}
	for path, want := range map[string]any{
		"name": "strata", "project": "acme", "region": "europe-west1", "databaseVersion": "MYSQL_8_0",
		"deletionProtection": true, "settings.deletionProtectionEnabled": true, "settings.tier": "db-custom-1-3840",
		"settings.backupConfiguration.enabled": true, "settings.backupConfiguration.binaryLogEnabled": true,
		"settings.ipConfiguration.ipv4Enabled": true,
	} {
		if got, _ := pulumitest.Plain(t, instance.Inputs, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if output := engine.Output(t, "address"); output.Value != "10.0.0.3" {
		t.Errorf("address is %v", output.Value)
	}
}

func TestProtectionIsLiftedAndTheNetworkIsPrivateByChoice(t *testing.T) {
	engine := &pulumitest.Engine{}
	lifted := false
	err := run(engine, &cloudsql.Args{
		Name: "strata", Project: pulumi.String("acme"), Region: pulumi.String("europe-west1"), Tier: "db-n1-standard-1",
		DeletionProtection: &lifted, PrivateNetwork: pulumi.String("projects/acme/global/networks/core"),
	})
	if err != nil {
		t.Fatal(err)
	}
	instance := engine.Get(t, instanceType, "strata-instance")
	for path, want := range map[string]any{
		"deletionProtection": false, "settings.deletionProtectionEnabled": false, "settings.tier": "db-n1-standard-1",
		"settings.ipConfiguration.ipv4Enabled": false, "settings.ipConfiguration.privateNetwork": "projects/acme/global/networks/core",
	} {
		if got, _ := pulumitest.Plain(t, instance.Inputs, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}

func TestBadArgsAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		args cloudsql.Args
		want string
	}{
		"nothing given":  {cloudsql.Args{}, "name, project, region must be given"},
		"another engine": {cloudsql.Args{Name: "x", Project: pulumi.String("p"), Region: pulumi.String("r"), Version: "POSTGRES_16"}, "POSTGRES_16"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(&pulumitest.Engine{}, &test.args); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error does not say %q: %v", test.want, err)
			}
		})
	}
}
