package bootstrap_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/pulumitest"
)

// TestOnlyIdentitiesThatMayDeclareDatabasesMayChangeThem checks that a team which only orders databases has no right to
// change one on Google Cloud, where a right on one database of the instance is a right on all of them.
func TestOnlyIdentitiesThatMayDeclareDatabasesMayChangeThem(t *testing.T) {
	config := onGoogleCloud()
	engine := google(t, config)
	const content = `apiVersion: strata/v1
kind: Teams
teams:
- name: web
- {name: api, allow: ["random:*"]}
catalogue:
- name: database
`
	if err := os.WriteFile(config["teamsFile"], []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
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
	for _, r := range engine.All() {
		if r.Name == "bucket-role" || r.Name == "team-catalogue-database-buckets" {
			t.Errorf("%s exists without an entry that creates buckets", r.URN)
		}
	}
	want := map[any]any{
		"serviceAccount:team-web@acme-dev.iam.gserviceaccount.com":                "projects/acme-dev/roles/strataTenant",
		"serviceAccount:team-api@acme-dev.iam.gserviceaccount.com":                "roles/cloudsql.client",
		"serviceAccount:team-catalogue-database@acme-dev.iam.gserviceaccount.com": "projects/acme-dev/roles/strataTenant",
		"serviceAccount:strata-nodes@acme-dev.iam.gserviceaccount.com":            "roles/container.defaultNodeServiceAccount",
		"serviceAccount:strata-plan@acme-dev.iam.gserviceaccount.com":             "projects/acme-dev/roles/strataPlan",
	}
	if !reflect.DeepEqual(roles, want) {
		t.Errorf("roles are %v, want %v", roles, want)
	}
}

// TestOnlyTheEntryMayCreateBuckets checks that a team that may declare buckets gets no role on those of other teams, and that
// the entry's role does not cover the state of the teams' Stacks.
func TestOnlyTheEntryMayCreateBuckets(t *testing.T) {
	config := onGoogleCloud()
	engine := google(t, config)
	const content = `apiVersion: strata/v1
kind: Teams
teams:
- {name: web, allow: ["gcp:storage/*"]}
catalogue:
- name: bucket
`
	if err := os.WriteFile(config["teamsFile"], []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, member := range engine.OfType(memberType) {
		role, _ := pulumitest.Plain(t, member.Inputs, "role")
		if text, _ := role.(string); !strings.HasSuffix(text, "/strataBuckets") {
			continue
		}
		found++
		who, _ := pulumitest.Plain(t, member.Inputs, "member")
		condition, _ := pulumitest.Plain(t, member.Inputs, "condition.expression")
		if who != "serviceAccount:team-catalogue-bucket@acme-dev.iam.gserviceaccount.com" || condition != `!resource.name.startsWith("projects/_/buckets/acme-dev-strata-")` {
			t.Errorf("%v has the role if %v", who, condition)
		}
	}
	if found != 1 {
		t.Errorf("%d accounts have the role", found)
	}
}
