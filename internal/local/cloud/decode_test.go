package cloud_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestMalformedRequestsChangeNothing(t *testing.T) {
	c := newEmulator(t, false)
	_, key := c.account("admin-account", "roles/owner")
	token, err := login(t, key)
	if err != nil {
		t.Fatal(err)
	}
	const accounts = "/iam/v1/projects/strata-local/serviceAccounts"
	for name, test := range map[string]struct {
		body string
		want string
	}{
		"unknown field":  {`{"accountId":"team-web","colour":"red"}`, `Unknown name \"colour\": Cannot find field.`},
		"wrong type":     {`{"accountId":7}`, "Invalid value at 'accountId'"},
		"not JSON":       {`accountId`, "Invalid JSON payload received."},
		"two values":     {`{"accountId":"team-web"}{}`, "Unexpected data"},
		"null":           {`null`, "does not have a length"},
		"a path as name": {`{"accountId":"../../x"}`, "is not valid"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := c.ask("POST", accounts, token, test.body)
			if status != http.StatusBadRequest || !strings.Contains(body, test.want) {
				t.Errorf("answer is %d %s; want 400 with %q", status, body, test.want)
			}
		})
	}
	status, body := c.ask("POST", accounts, token, `{"accountId":"`+strings.Repeat("x", 5<<20)+`"}`)
	if status != http.StatusRequestEntityTooLarge {
		t.Errorf("the response to a large request is %d %s", status, body)
	}
	found, err := c.owner().iam.Projects.ServiceAccounts.List("projects/" + projectID).Do()
	if err != nil || len(found.Accounts) != 1 {
		t.Errorf("accounts are %v, %v; want only the caller", found, err)
	}
}
