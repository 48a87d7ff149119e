package gcloud_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestMalformedRequestsChangeNothing(t *testing.T) {
	c := newCloud(t, false)
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
		"no JSON":        {`accountId`, "Invalid JSON payload received."},
		"two values":     {`{"accountId":"team-web"}{}`, "Unexpected data"},
		"null":           {`null`, "does not have a length"},
		"another's name": {`{"accountId":"../../x"}`, "is not valid"},
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
		t.Errorf("a large request is answered with %d %s", status, body)
	}
	found, err := c.owner().iam.Projects.ServiceAccounts.List("projects/" + projectID).Do()
	if err != nil || len(found.Accounts) != 1 {
		t.Errorf("accounts are %v, %v; want the one that asked", found, err)
	}
}

// FuzzRequests sends bodies to the calls that decode the most. None may be answered as an error of the emulator.
func FuzzRequests(f *testing.F) {
	paths := []string{
		"POST /iam/v1/projects/strata-local/serviceAccounts",
		"POST /cloudresourcemanager/v1/projects/strata-local:setIamPolicy",
		"POST /container/v1/projects/strata-local/locations/europe-west1-b/clusters",
		"PUT /container/v1/projects/strata-local/locations/europe-west1-b/clusters/strata",
		"PATCH /sqladmin/sql/v1beta4/projects/strata-local/instances/strata",
		"POST /serviceusage/v1/projects/strata-local/services:batchEnable",
		"POST /iam/v1/projects/strata-local/roles",
		"POST /token",
	}
	for _, body := range []string{
		"", "{}", "null", "[]", `"x"`, `{"policy":null}`, `{"policy":{"bindings":[null]}}`, `{"policy":{"bindings":[{}]}}`,
		`{"cluster":{"name":"a","nodePools":[null]}}`, `{"update":{"desiredLocations":["a"]}}`, `{"settings":7}`, `{"settings":{"settingsVersion":{}}}`,
		`{"serviceIds":[""]}`, `{"roleId":"abc","role":{"includedPermissions":["a.b.c"]}}`, `{"accountId":"abcdef"}`, `{"nodePool":null}`,
	} {
		for i := range paths {
			f.Add(uint(i), body)
		}
	}
	c := newCloud(f, false)
	_, key := c.account("admin-account", "roles/owner")
	token := c.token(key)
	f.Fuzz(func(t *testing.T, which uint, body string) {
		method, path, _ := strings.Cut(paths[which%uint(len(paths))], " ")
		request := httptest.NewRequest(method, path, strings.NewReader(body))
		request.Header.Set("Authorization", "Bearer "+token)
		answer := httptest.NewRecorder()
		c.ServeHTTP(answer, request)
		if answer.Code >= 500 {
			t.Errorf("%s %s %q is answered with %d %s", method, path, body, answer.Code, answer.Body)
		}
	})
}
