package cloud_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/sql/engine/enginetest"
)

// TestTheAPIRejectsHostileNames sends the names in every place of a call for a name. The errors must have Google's
// form, and the store must not change.
func TestTheAPIRejectsHostileNames(t *testing.T) {
	c := newEmulator(t, false)
	c.unservedInstance()
	_, key := c.account("team-web", "roles/cloudsql.admin")
	token := c.token(key)
	before := fingerprintOf(t, c)
	const on = "/sqladmin/sql/v1beta4/projects/" + projectID + "/instances"
	for _, name := range enginetest.HostileNames() {
		if ofMySQL := strings.ToLower(name); ofMySQL == "sys" || strings.HasSuffix(ofMySQL, "sql") || strings.HasSuffix(ofMySQL, "_schema") {
			continue // a name of another family
		}
		quoted, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		escaped, query := url.PathEscape(name), url.QueryEscape(name)
		if name == "." || name == ".." { // clients resolve these as folders
			escaped = strings.ReplaceAll(name, ".", "%2E")
		}
		for _, request := range [][3]string{
			{"POST", on + "/unserved/databases", `{"name":` + string(quoted) + `}`},
			{"POST", on + "/unserved/databases", `{"name":"a","charset":` + string(quoted) + `x/"}`},
			{"PATCH", on + "/unserved/databases/" + escaped, `{"charset":"UTF8"}`},
			{"GET", on + "/unserved/databases/" + escaped, ""},
			{"DELETE", on + "/unserved/databases/" + escaped, ""},
			{"POST", on, `{"name":` + string(quoted) + `,"settings":{"tier":"x"}}`},
			{"GET", on + "/" + escaped, ""},
			{"DELETE", on + "/" + escaped, ""},
			{"POST", on + "/" + escaped + "/databases", `{"name":"a"}`},
			{"GET", on + "/unserved/users/" + escaped, ""},
			{"DELETE", on + "/unserved/users?name=" + query + "&host=" + query, ""},
			{"PUT", on + "/unserved/users?name=" + query + "&host=" + query, `{"password":"x"}`},
			{"POST", on + "/unserved/users", `{"name":"a","host":` + string(quoted) + `x/"}`},
		} {
			if name == "" && request[0] == "GET" {
				continue // the path of a list
			}
			status, body := c.ask(request[0], request[1], token, request[2])
			if status < 400 || status >= 500 {
				t.Errorf("the response to %s %s %s is %d %s", request[0], request[1], request[2], status, body)
			}
		}
	}
	if fingerprintOf(t, c) != before {
		t.Error("a rejected name has changed the store")
	}
	status, body := c.ask(http.MethodPost, on+"/unserved/databases", token, `{"name":"%2e%2e%2fhr"}`)
	if status != http.StatusBadRequest || !strings.Contains(body, `"message": "Invalid request: Incorrect database name '%2e%2e%2fhr'."`) || !strings.Contains(body, `"reason": "invalid"`) {
		t.Errorf("the response is %d %s", status, body)
	}
}

func fingerprintOf(t *testing.T, c *emulator) string {
	t.Helper()
	sum, err := c.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// unservedInstance creates an instance that the emulator does not run, for tests that do not depend on a server.
func (c *emulator) unservedInstance() {
	c.t.Helper()
	owner := c.owner()
	op, err := owner.sql.Instances.Insert(projectID, &sqladmin.DatabaseInstance{
		Name: "unserved", Region: "europe-west1", DatabaseVersion: "POSTGRES_16", Settings: &sqladmin.Settings{Tier: "db-f1-micro"},
	}).Do()
	c.waitSQL(owner, op, err)
}
