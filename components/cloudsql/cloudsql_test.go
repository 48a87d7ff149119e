package cloudsql_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/cloudsql"
	"github.com/strata-platform/strata/internal/pulumitest"
)

const (
	instanceType = "gcp:sql/databaseInstance:DatabaseInstance"
	databaseType = "gcp:sql/database:Database"
	userType     = "gcp:sql/user:User"
)

func given() *cloudsql.InstanceArgs {
	return &cloudsql.InstanceArgs{Name: pulumi.String("strata"), Project: pulumi.String("acme"), Region: pulumi.String("europe-west1")}
}

// check compares properties of a resource by their paths.
func check(t *testing.T, r pulumitest.Resource, want map[string]any) {
	t.Helper()
	for path, value := range want {
		if got, _ := pulumitest.Plain(t, r.Inputs, path); got != value {
			t.Errorf("%s of %s is %v, want %v", path, r.Name, got, value)
		}
	}
}

func run(engine *pulumitest.Engine, args *cloudsql.InstanceArgs) error {
	return engine.Run("proj", "dev", func(ctx *pulumi.Context) error {
		instance, err := cloudsql.NewInstance(ctx, "strata", args)
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
	err := run(engine, given())
	if err != nil {
		t.Fatal(err)
	}
	instance := engine.Get(t, instanceType, "strata-instance")
	if want := engine.Get(t, cloudsql.Type, "strata").URN; instance.Parent != want {
		t.Errorf("parent is %s, want %s", instance.Parent, want)
	}
	check(t, instance, map[string]any{
		"name": "strata", "project": "acme", "region": "europe-west1", "databaseVersion": "MYSQL_8_0",
		"deletionProtection": true, "settings.deletionProtectionEnabled": true, "settings.tier": "db-custom-1-3840",
		"settings.availabilityType":            "ZONAL",
		"settings.backupConfiguration.enabled": true, "settings.backupConfiguration.binaryLogEnabled": true,
		"settings.backupConfiguration.transactionLogRetentionDays":             7.0,
		"settings.backupConfiguration.backupRetentionSettings.retainedBackups": 7.0,
		"settings.ipConfiguration.ipv4Enabled":                                 true,
	})
	if !instance.Protect {
		t.Error("the engine would delete the instance")
	}
	if want := "urn:pulumi:dev::proj::strata:index:CloudSQL$gcp:sql/databaseInstance:DatabaseInstance::strata-instance"; instance.URN != want {
		t.Errorf("URN is %s, want %s", instance.URN, want)
	}
	if output := engine.Output(t, "address"); output.Value != "10.0.0.3" {
		t.Errorf("address is %v", output.Value)
	}
}

func TestProtectionIsLiftedAndTheNetworkIsPrivateByChoice(t *testing.T) {
	engine := &pulumitest.Engine{}
	lifted := false
	err := run(engine, &cloudsql.InstanceArgs{
		Name: pulumi.String("strata"), Project: pulumi.String("acme"), Region: pulumi.String("europe-west1"), Tier: pulumi.String("db-n1-standard-1"),
		DeletionProtection: &lifted, PrivateNetwork: pulumi.String("projects/acme/global/networks/core"),
		HighAvailability: pulumi.Bool(true), RequireTLS: pulumi.Bool(true),
	})
	if err != nil {
		t.Fatal(err)
	}
	instance := engine.Get(t, instanceType, "strata-instance")
	check(t, instance, map[string]any{
		"deletionProtection": false, "settings.deletionProtectionEnabled": false, "settings.tier": "db-n1-standard-1",
		"settings.ipConfiguration.ipv4Enabled": false, "settings.ipConfiguration.privateNetwork": "projects/acme/global/networks/core",
		"settings.availabilityType": "REGIONAL", "settings.ipConfiguration.sslMode": "ENCRYPTED_ONLY",
	})
	if instance.Protect {
		t.Error("the engine would keep the instance")
	}
}

func TestPostgresRecoversAnyMomentByItsOwnLog(t *testing.T) {
	engine := &pulumitest.Engine{}
	args := given()
	args.Version, args.Backups = "POSTGRES_16", &cloudsql.Backups{StartTime: pulumi.String("03:00"), Retained: pulumi.Int(30), LogDays: pulumi.Int(3)}
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	instance := engine.Get(t, instanceType, "strata-instance")
	check(t, instance, map[string]any{
		"settings.backupConfiguration.pointInTimeRecoveryEnabled":              true,
		"settings.backupConfiguration.startTime":                               "03:00",
		"settings.backupConfiguration.transactionLogRetentionDays":             3.0,
		"settings.backupConfiguration.backupRetentionSettings.retainedBackups": 30.0,
	})
	backups := instance.Inputs["settings"].ObjectValue()["backupConfiguration"].ObjectValue()
	if _, given := backups["binaryLogEnabled"]; given {
		t.Error("the binary log, which PostgreSQL has not, is set")
	}
}

func TestBackupsAreLeftOutByChoice(t *testing.T) {
	engine := &pulumitest.Engine{}
	args := given()
	args.Backups = &cloudsql.Backups{Disabled: true}
	if err := run(engine, args); err != nil {
		t.Fatal(err)
	}
	instance := engine.Get(t, instanceType, "strata-instance")
	if got, _ := pulumitest.Plain(t, instance.Inputs, "settings.backupConfiguration"); !reflect.DeepEqual(got, map[string]any{"enabled": false}) {
		t.Errorf("backups are %v", got)
	}
}

func TestDatabasesAndUsersGoWithTheInstanceAndNotBefore(t *testing.T) {
	for _, protected := range []bool{true, false} {
		engine := &pulumitest.Engine{}
		args := given()
		args.DeletionProtection = &protected
		args.Databases = []cloudsql.Database{{Name: "audit", Charset: pulumi.String("utf8mb4")}}
		args.Users = []cloudsql.User{{Name: "auditor", Host: pulumi.String("10.%"), Password: pulumi.String("canary")}}
		if err := run(engine, args); err != nil {
			t.Fatal(err)
		}
		component, instance := engine.Get(t, cloudsql.Type, "strata"), engine.Get(t, instanceType, "strata-instance")
		database, user := engine.Get(t, databaseType, "strata-database-audit"), engine.Get(t, userType, "strata-user-auditor")
		for _, child := range []pulumitest.Resource{database, user} {
			if child.Parent != component.URN || !child.DependsOn(instance) {
				t.Errorf("%s is a child of %s and depends on %v", child.Name, child.Parent, child.Dependencies)
			}
			if child.Protect != protected || child.DeletedWith != instance.URN {
				t.Errorf("%s is protected: %v, want %v; it is deleted with %q", child.Name, child.Protect, protected, child.DeletedWith)
			}
		}
		check(t, database, map[string]any{"name": "audit", "charset": "utf8mb4", "project": "acme", "instance": "strata"})
		check(t, user, map[string]any{"name": "auditor", "host": "10.%", "project": "acme", "instance": "strata"})
		if got, secret := pulumitest.Plain(t, user.Inputs, "password"); got != "canary" || !secret {
			t.Errorf("the password is secret: %v", secret)
		}
	}
}

func TestBadArgsAreRefusedAllAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*cloudsql.InstanceArgs)
		want []string
	}{
		"nothing given":  {func(a *cloudsql.InstanceArgs) { *a = cloudsql.InstanceArgs{} }, []string{"name must", "project must", "region must"}},
		"another engine": {func(a *cloudsql.InstanceArgs) { a.Version = "SQLSERVER_2022_WEB" }, []string{"SQLSERVER_2022_WEB"}},
		"backups that are disabled and described": {
			func(a *cloudsql.InstanceArgs) { a.Backups = &cloudsql.Backups{Disabled: true, Retained: pulumi.Int(3)} }, []string{"another field of Backups is set"},
		},
		"impossible backups": {
			func(a *cloudsql.InstanceArgs) {
				a.Backups = &cloudsql.Backups{StartTime: pulumi.String("3am"), Retained: pulumi.Int(400), LogDays: pulumi.Int(8)}
			},
			[]string{`"3am"`, "retained backups must be between 1 and 365", "days of logs must be between 1 and 7"},
		},
		"high availability without logs": {
			func(a *cloudsql.InstanceArgs) {
				a.HighAvailability, a.Backups = pulumi.Bool(true), &cloudsql.Backups{NoPointInTimeRecovery: true, LogDays: pulumi.Int(2)}
			},
			[]string{"high availability needs the logs", "keeps no logs"},
		},
		"doubled names and a missing password": {
			func(a *cloudsql.InstanceArgs) {
				a.Databases, a.Users = []cloudsql.Database{{Name: "a"}, {Name: "a"}, {}}, []cloudsql.User{{Name: "u"}, {Name: "u"}}
			},
			[]string{"database a is given twice", "a database has no name", "user u is given twice", "user u has no password"},
		},
		"a host for PostgreSQL": {
			func(a *cloudsql.InstanceArgs) {
				a.Version, a.Users = "POSTGRES_16", []cloudsql.User{{Name: "u", Host: pulumi.String("%"), Password: pulumi.String("p")}}
			},
			[]string{"which only MySQL supports"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			args := given()
			test.edit(args)
			err := run(&pulumitest.Engine{}, args)
			for _, want := range test.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q: %v", want, err)
				}
			}
		})
	}
}
