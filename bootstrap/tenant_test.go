package bootstrap_test

import (
	"reflect"
	"testing"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/internal/pulumitest"
)

func TestEachTeamHasOneIdentityOfItsOwn(t *testing.T) {
	engine := google(t, onGoogleCloud())
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	roles := map[any]any{}
	for _, member := range engine.OfType(memberType) {
		who, _ := pulumitest.Plain(t, member.Inputs, "member")
		role, _ := pulumitest.Plain(t, member.Inputs, "role")
		if before, taken := roles[who]; taken {
			t.Errorf("%v has both %v and %v", who, before, role)
		}
		roles[who] = role
	}
	want := map[any]any{
		"serviceAccount:team-web@acme-dev.iam.gserviceaccount.com":     "projects/acme-dev/roles/strataTenant",
		"serviceAccount:team-api@acme-dev.iam.gserviceaccount.com":     "projects/acme-dev/roles/strataTenant",
		"serviceAccount:strata-nodes@acme-dev.iam.gserviceaccount.com": "roles/container.defaultNodeServiceAccount",
		"serviceAccount:strata-plan@acme-dev.iam.gserviceaccount.com":  "projects/acme-dev/roles/strataPlan",
	}
	if !reflect.DeepEqual(roles, want) {
		t.Errorf("roles are %v, want %v", roles, want)
	}
	role := engine.Get(t, roleType, "tenant-role")
	for _, team := range []string{"web", "api"} {
		if !engine.Get(t, memberType, "team-"+team+"-tenant").DependsOn(role) {
			t.Errorf("the binding of team %s does not depend on the role, and would outlive it", team)
		}
	}
}

func TestOnGoogleCloudATeamsStacksActAsItsAccountWithoutAKey(t *testing.T) {
	engine := google(t, onGoogleCloud())
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	cluster := engine.Get(t, clusterType, "cluster-cluster")
	for _, team := range []string{"web", "api"} {
		binding := engine.Get(t, workloadType, "team-"+team+"-workload-team-"+team+"-"+team)
		for property, want := range map[string]string{
			"serviceAccountId": "projects/acme-dev/serviceAccounts/team-" + team + "@acme-dev.iam.gserviceaccount.com",
			"member":           "serviceAccount:acme-dev.svc.id.goog[team-" + team + "/" + team + "]",
			"role":             "roles/iam.workloadIdentityUser",
		} {
			if got, _ := pulumitest.Plain(t, binding.Inputs, property); got != want {
				t.Errorf("%s of team %s is %v, want %s", property, team, got, want)
			}
		}
		if !binding.DependsOn(cluster) {
			t.Errorf("the binding of team %s does not wait for the cluster, with which the pool of identities comes", team)
		}
	}
	if n := len(engine.OfType(workloadType)); n != 3 || len(engine.OfType(keyType)) > 0 {
		t.Errorf("there are %d bindings, want the operator's and one for each team, and %d keys, want none", n, len(engine.OfType(keyType)))
	}
}

func TestEachTeamHasABucketThatItsAccountAloneUses(t *testing.T) {
	engine := google(t, onGoogleCloud())
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	users := map[any]any{}
	for _, binding := range engine.OfType(objectsType) {
		bucket, _ := pulumitest.Plain(t, binding.Inputs, "bucket")
		member, _ := pulumitest.Plain(t, binding.Inputs, "member")
		if other, taken := users[bucket]; taken {
			t.Errorf("bucket %v is for %v and for %v", bucket, other, member)
		}
		users[bucket] = member
	}
	want := map[any]any{
		"acme-dev-strata-web": "serviceAccount:team-web@acme-dev.iam.gserviceaccount.com",
		"acme-dev-strata-api": "serviceAccount:team-api@acme-dev.iam.gserviceaccount.com",
	}
	if !reflect.DeepEqual(users, want) {
		t.Errorf("buckets are for %v, want %v", users, want)
	}
	for _, bucket := range engine.OfType(bucketType) {
		if got, _ := pulumitest.Plain(t, bucket.Inputs, "forceDestroy"); got != false {
			t.Errorf("%s would be deleted with all state in it", bucket.Name)
		}
	}
	tenants := engine.Output(t, "tenants").Value.(map[string]any)
	if got := tenants["web"].(map[string]any)["backend"]; got != "gs://acme-dev-strata-web" {
		t.Errorf("the backend of team web is %v", got)
	}
}

func TestAPassphraseIsKeptForAsLongAsTheStateThatItEncrypts(t *testing.T) {
	engine := google(t, onGoogleCloud())
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	for _, team := range []string{"web", "api"} {
		phrase := engine.Get(t, phraseType, "team-"+team+"-passphrase")
		if length, _ := pulumitest.Plain(t, phrase.Inputs, "length"); length.(float64) < 32 {
			t.Errorf("the passphrase of team %s has %v characters", team, length)
		}
		if want := bootstrap.PassphraseURNs("dev", "team-"+team, nil)[0]; phrase.URN != want {
			t.Errorf("the passphrase of team %s is %s, not %s: by that name local finds it", team, phrase.URN, want)
		}
		bucket := engine.Get(t, bucketType, "team-"+team+"-state-bucket")
		if phrase.Protect != bucket.Protect || !phrase.Protect {
			t.Errorf("protected is the passphrase of team %s: %v, its bucket: %v", team, phrase.Protect, bucket.Protect)
		}
		if !engine.Get(t, "strata:index:StateBucket", "team-"+team+"-state").DependsOn(phrase) {
			t.Errorf("the bucket of team %s does not depend on its passphrase: an interrupted destroy could leave unreadable state", team)
		}
	}
	tenants := engine.Output(t, "tenants")
	if got := tenants.Value.(map[string]any)["web"].(map[string]any)["passphrase"]; got != "canary-team-web-passphrase" || !tenants.Secret {
		t.Errorf("the passphrase is not handed on as a secret (secret: %v)", tenants.Secret)
	}
}

func TestAnotherRotationReplacesTheKeys(t *testing.T) {
	config := onGoogleCloud()
	config["tenantKeys"], config["tenantKeyRotation"] = "true", "2"
	engine := google(t, config)
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	key := engine.Get(t, keyType, "team-web-key")
	if got, _ := pulumitest.Plain(t, key.Inputs, "keepers.rotation"); got != "2" || key.Protect {
		t.Errorf("the keeper is %v; the key is protected against its replacement: %v", got, key.Protect)
	}
}

func TestTheTenantRoleHoldsDatabasesAndUsersOnly(t *testing.T) {
	engine := google(t, onGoogleCloud())
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	role := engine.Get(t, roleType, "tenant-role")
	for property, want := range map[string]any{
		"roleId": "strataTenant", "project": "acme-dev",
		"permissions": []any{
			"cloudsql.databases.create", "cloudsql.databases.delete", "cloudsql.databases.get", "cloudsql.databases.list", "cloudsql.databases.update",
			"cloudsql.instances.connect", "cloudsql.instances.get",
			"cloudsql.users.create", "cloudsql.users.delete", "cloudsql.users.get", "cloudsql.users.list", "cloudsql.users.update",
		},
	} {
		if got, _ := pulumitest.Plain(t, role.Inputs, property); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", property, got, want)
		}
	}
}

func TestTenantRolesAreGivenBesides(t *testing.T) {
	config := onGoogleCloud()
	config["tenantRoles"] = `["roles/cloudsql.viewer"]`
	engine := google(t, config)
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"team-web-tenant", "team-web-cloudsql-viewer", "team-api-tenant", "team-api-cloudsql-viewer"} {
		engine.Get(t, memberType, name)
	}
}
