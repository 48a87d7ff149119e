package plugins_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
)

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

// deployment is a program of an app team.
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

func TestErrorsOfInvalidPrograms(t *testing.T) {
	c := newEmulator(t)
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
			t.Errorf("want %q in the error of %s\n%v\n%s", want, program, err, out)
		}
	}
}
