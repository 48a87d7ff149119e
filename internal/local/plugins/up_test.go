package plugins_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// chain is a program with every type that the layers and the app teams use.
const chain = `
name: chain
runtime: yaml
resources:
  cluster:
    type: gcp:container:Cluster
    properties:
      name: strata
      location: europe-west1-b
      initialNodeCount: 1
      removeDefaultNodePool: true
      deletionProtection: false
      resourceLabels: {made-by: test}
  pool:
    type: gcp:container:NodePool
    properties:
      cluster: ${cluster.name}
      location: ${cluster.location}
      nodeCount: 2
      nodeConfig: {machineType: e2-small, oauthScopes: ["https://www.googleapis.com/auth/cloud-platform"]}
  instance:
    type: gcp:sql:DatabaseInstance
    properties:
      name: strata
      databaseVersion: MYSQL_8_0
      deletionProtection: false
      settings:
        tier: db-f1-micro
        ipConfiguration: {ipv4Enabled: true}
  database:
    type: gcp:sql:Database
    properties: {instance: "${instance.name}", name: shop}
  password:
    type: random:RandomPassword
    properties: {length: 24, special: false, minUpper: 2}
  user:
    type: gcp:sql:User
    properties: {instance: "${instance.name}", name: shop, host: "%", password: "${password.result}"}
  account:
    type: gcp:serviceaccount:Account
    properties: {accountId: team-web, displayName: TITLE}
  key:
    type: gcp:serviceaccount:Key
    properties: {serviceAccountId: "${account.name}"}
  grant:
    type: gcp:projects:IAMMember
    properties: {project: strata-local, role: roles/cloudsql.admin, member: "${account.member}"}
  actAs:
    type: gcp:serviceaccount:IAMMember
    properties: {serviceAccountId: "${account.name}", role: roles/iam.serviceAccountUser, member: "user:engineer@example.com"}
variables:
  looked:
    fn::invoke:
      function: gcp:sql:getDatabaseInstance
      arguments: {name: "${instance.name}"}
outputs:
  endpoint: ${cluster.endpoint}
  host: ${looked.publicIpAddress}
  password: ${password.result}
  key: ${key.privateKey}
`

func TestChainGoesUpAndDown(t *testing.T) {
	c := newCloud(t)
	s := c.newStack(t)
	s.write(t, strings.ReplaceAll(chain, "TITLE", "Web"))
	s.run(t, "stack", "init", "dev")
	s.run(t, "up", "--yes", "--skip-preview")
	outputs := s.outputs(t)
	if login(t, outputs["host"], "shop", outputs["password"]) != nil {
		t.Errorf("the user cannot log in: %v", login(t, outputs["host"], "shop", outputs["password"]))
	}
	if login(t, outputs["host"], "shop", "wrong") == nil {
		t.Error("a wrong password was let in")
	}
	if out := s.run(t, "stack", "output"); strings.Contains(out, outputs["password"]) || strings.Contains(out, outputs["key"]) {
		t.Error("a secret output is shown")
	}

	if file := s.find(t, outputs["password"]); file != "" {
		t.Errorf("the password stands in plain text in %s", file)
	}

	t.Run("a second up changes nothing", func(t *testing.T) {
		s.run(t, "up", "--yes", "--skip-preview", "--expect-no-changes")
	})
	t.Run("a refresh changes nothing", func(t *testing.T) {
		s.run(t, "refresh", "--yes", "--expect-no-changes")
	})
	t.Run("a changed title is an update in place", func(t *testing.T) {
		s.write(t, strings.ReplaceAll(chain, "TITLE", "The web"))
		out := s.run(t, "up", "--yes", "--skip-preview")
		if !strings.Contains(out, "1 updated") || strings.Contains(out, "replaced") {
			t.Errorf("up says:\n%s", out)
		}
	})
	t.Run("a changed host replaces the user", func(t *testing.T) {
		s.write(t, strings.ReplaceAll(strings.ReplaceAll(chain, "TITLE", "The web"), `host: "%"`, `host: "127.%"`))
		out := s.run(t, "up", "--yes", "--skip-preview")
		if !strings.Contains(out, "1 replaced") {
			t.Errorf("up says:\n%s", out)
		}
	})
	t.Run("down leaves nothing", func(t *testing.T) {
		s.run(t, "destroy", "--yes", "--skip-preview")
		if out := s.run(t, "stack", "export"); strings.Contains(out, "gcp:") {
			t.Errorf("the state still has objects:\n%s", out)
		}
	})
}

func (s *stack) outputs(t *testing.T) map[string]string {
	t.Helper()
	outputs := map[string]string{}
	if err := json.Unmarshal([]byte(s.run(t, "stack", "output", "--json", "--show-secrets")), &outputs); err != nil {
		t.Fatal(err)
	}
	return outputs
}

// login tries a user's password on an instance.
func login(t *testing.T, host, user, password string) error {
	t.Helper()
	config := mysql.NewConfig()
	config.User, config.Passwd, config.Net, config.Addr, config.DBName = user, password, "tcp", host+":3306", "shop"
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.PingContext(t.Context()); err != nil {
		return fmt.Errorf("log in: %w", err)
	}
	return nil
}

// deployment is what an app team has: a key with one role, and a program that needs just that.
const deployment = `
name: deployment
runtime: yaml
resources:
  database:
    type: gcp:sql:Database
    properties: {instance: strata, name: shop}
  password:
    type: random:RandomPassword
    properties: {length: 24}
  user:
    type: gcp:sql:User
    properties: {instance: strata, name: shop, host: "%", password: "${password.result}"}
`

const groundwork = `
name: groundwork
runtime: yaml
resources:
  instance:
    type: gcp:sql:DatabaseInstance
    properties: {name: strata, databaseVersion: MYSQL_8_0, deletionProtection: false, settings: {tier: db-f1-micro}}
  account:
    type: gcp:serviceaccount:Account
    properties: {accountId: team-web}
  key:
    type: gcp:serviceaccount:Key
    properties: {serviceAccountId: "${account.name}"}
  grant:
    type: gcp:projects:IAMMember
    properties: {project: strata-local, role: ROLE, member: "${account.member}"}
outputs:
  credentials:
    fn::fromBase64: ${key.privateKey}
`

func TestAKeyDoesWhatItsRolesAllow(t *testing.T) {
	c := newCloud(t)
	below := c.newStack(t)
	below.write(t, strings.ReplaceAll(groundwork, "ROLE", "roles/cloudsql.admin"))
	below.run(t, "stack", "init", "dev")
	below.run(t, "up", "--yes", "--skip-preview")

	team := cloud{url: c.url, owner: below.outputs(t)["credentials"]}
	s := team.newStack(t)
	s.write(t, deployment)
	s.run(t, "stack", "init", "dev")
	s.run(t, "up", "--yes", "--skip-preview")
	s.run(t, "up", "--yes", "--expect-no-changes")

	below.write(t, strings.ReplaceAll(groundwork, "ROLE", "roles/cloudsql.viewer"))
	below.run(t, "up", "--yes", "--skip-preview")
	s.write(t, strings.ReplaceAll(deployment, "name: shop}", "name: store}"))
	out, err := s.try(t, "up", "--yes", "--skip-preview")
	if err == nil || !strings.Contains(out, "cloudsql.databases.create") {
		t.Errorf("without the role, up says: %v\n%s", err, out)
	}

	below.write(t, strings.ReplaceAll(groundwork, "ROLE", "roles/cloudsql.admin"))
	below.run(t, "up", "--yes", "--skip-preview")
	s.run(t, "destroy", "--yes", "--skip-preview")
	below.run(t, "destroy", "--yes", "--skip-preview")
}

func TestProgramsAreRefusedWithTheReason(t *testing.T) {
	c := newCloud(t)
	s := c.newStack(t)
	s.write(t, deployment)
	s.run(t, "stack", "init", "dev")
	for program, want := range map[string]string{
		strings.ReplaceAll(deployment, "name: shop}", "name: shop, colour: red}"):     "colour",
		strings.ReplaceAll(deployment, "length: 24", "length: many"):                  "length",
		strings.ReplaceAll(deployment, "{length: 24}", "{length: 3, minUpper: 4}"):    "length must be at least the sum of the minimums, 4, not 3",
		strings.ReplaceAll(deployment, "gcp:sql:Database\n", "gcp:compute:Network\n"): "gcp:compute:Network",
	} {
		s.write(t, program)
		if out, err := s.try(t, "preview"); err == nil || !strings.Contains(out, want) {
			t.Errorf("want %q in the refusal of %s\n%v\n%s", want, program, err, out)
		}
	}
}
