package cloud_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// fuzzed is an emulator that gets arbitrary requests from a member with all permissions. It has no runtimes for
// clusters and databases, so that nothing but requests changes its store.
type fuzzed struct {
	*emulator
	token string
}

func newFuzzed(f *testing.F) *fuzzed {
	f.Helper()
	c := newEmulator(f, false)
	c.clusters = nil
	c.restart(false)
	_, key := c.account("admin-account", "roles/owner", "roles/storage.admin")
	c.newBucket(c.storageAs(c.engineer), "strata-fuzzed")
	return &fuzzed{c, c.token(key)}
}

// send sends a request and checks the response: it is not an internal error, and an error has the form of its API and
// leaves the store unchanged.
func (c *fuzzed) send(t *testing.T, method, target, authorization, body string) {
	t.Helper()
	sent, err := http.NewRequestWithContext(t.Context(), method, "http://cloud"+target, strings.NewReader(body))
	if err != nil {
		t.Skip("no HTTP client sends this")
	}
	sent.Header.Set("Authorization", authorization)
	if strings.HasPrefix(target, "/token") {
		sent.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	before := c.fingerprint(t)
	answer := httptest.NewRecorder()
	c.ServeHTTP(answer, sent)
	if answer.Code >= 500 && answer.Code != http.StatusNotImplemented {
		t.Fatalf("the response to %s %s %q is %d %s", method, target, body, answer.Code, answer.Body)
	}
	if answer.Code < 400 {
		return
	}
	if after := c.fingerprint(t); after != before {
		t.Errorf("the error of %s %s %q is %d %s, but the store has changed", method, target, body, answer.Code, answer.Body)
	}
	if method == http.MethodHead || strings.HasPrefix(answer.Header().Get("Content-Type"), "application/xml") {
		return
	}
	var refusal struct {
		Error json.RawMessage `json:"error"`
	}
	var inner struct {
		Code    int
		Message string
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &refusal); err != nil {
		t.Fatalf("the error of %s %s is not JSON: %v: %s", method, target, err, answer.Body)
	}
	if (strings.HasPrefix(sent.URL.Path, "/token") || strings.HasPrefix(sent.URL.Path, "/sts/")) && refusal.Error[0] == '"' {
		return // the token endpoints have their own form
	}
	if err := json.Unmarshal(refusal.Error, &inner); err != nil || inner.Code != answer.Code || inner.Message == "" {
		t.Errorf("the error of %s %s, %d, is not in the form of its API: %v: %s", method, target, answer.Code, err, answer.Body)
	}
}

func (c *fuzzed) fingerprint(t *testing.T) string {
	t.Helper()
	sum, err := c.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// FuzzCalls sends arbitrary names, queries and bodies to every call.
func FuzzCalls(f *testing.F) {
	c := newFuzzed(f)
	routes := c.Routes()
	for i := range routes {
		f.Add(uint(i), "none", "", "{}")
	}
	for i, body := range []string{
		"", "null", "[]", `"x"`, "{", `{"policy":null}`, `{"policy":{"bindings":[null]}}`, `{"policy":{"bindings":[{}]}}`,
		`{"policy":{"version":3,"bindings":[{"role":"roles/browser","members":["user:a@b"],"condition":{"expression":"resource.name."}}]}}`,
		`{"cluster":{"name":"a","nodePools":[null]}}`, `{"update":{"desiredLocations":["a"]}}`, `{"settings":7}`,
		`{"settings":{"settingsVersion":{}}}`, `{"serviceIds":[""]}`, `{"roleId":"abc","role":{"includedPermissions":["a.b.c"]}}`,
		`{"accountId":"abcdef"}`, `{"nodePool":null}`, `{"serviceAccount":{},"updateMask":","}`, `{"name":"a","bindings":[{"condition":{}}]}`,
		`{"sourceObjects":[null]}`, `{"options":{"requestedPolicyVersion":-1}}`, `{"permissions":["*"]}`, `{"etag":"\u0000"}`, `{"title":"` + "\xff" + `"}`,
	} {
		for at := i; at < len(routes); at += 7 {
			f.Add(uint(at), "strata-fuzzed", "pageSize=-1&pageToken=x&fields=a(b", body)
			f.Add(uint(at), "a/b", "updateMask=title&names=%00&publicKeyType=x&options.requestedPolicyVersion=x", body)
		}
	}
	f.Fuzz(func(t *testing.T, which uint, name, query, body string) {
		method, path := exampleOf(routes[which%uint(len(routes))], func(variable string) string {
			if variable == "{project}" {
				return projectID
			}
			return url.PathEscape(name)
		})
		c.send(t, method, path+"?"+query, "Bearer "+c.token, body)
	})
}

// FuzzPaths sends requests to arbitrary paths.
func FuzzPaths(f *testing.F) {
	for _, path := range []string{
		"/", "//", "/iam", "/iam/", "/iam/v1", "/iam/v1/v1/projects/-/serviceAccounts/-", "/iam/v1/projects//serviceAccounts",
		"/iam/v1/projects/%2F/serviceAccounts/%00:undelete", "/iam/v1/projects/-/serviceAccounts/1:undelete", "/cloudresourcemanager/v3/projects/0",
		"/cloudresourcemanager/v1/projects/99999999999999999999:getIamPolicy", "/serviceusage/v1/services", "/sqladmin/sql/v1beta4/sql/v1beta4/projects/-/instances",
		"/container/v1/projects/strata-local/locations/-/clusters?alt=media&$.xgafv=2", "/storage/storage/v1/b", "/storage/storage/v1/b/%2e%2e/o/%2e%2e",
		"/upload/storage/v1/b/strata-fuzzed/o?uploadType=resumable", "/strata-fuzzed/a/b", "/resumable/upload/storage/v1/b/x/o?upload_id=x", "/token", "/batch",
	} {
		for _, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"} {
			f.Add(method, path, "{}")
		}
	}
	c := newFuzzed(f)
	f.Fuzz(func(t *testing.T, method, path, body string) {
		if !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
		c.send(t, method, path, "Bearer "+c.token, body)
	})
}

// FuzzLogin sends arbitrary forms to the token endpoint, and arbitrary credentials to a call.
func FuzzLogin(f *testing.F) {
	const bearer, refresh = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=", "grant_type=refresh_token&client_id=x&"
	for _, seed := range [][2]string{
		{"", ""}, {"grant_type=", "Bearer"}, {"%", "Bearer "}, {bearer, "Bearer ."}, {bearer + "..", "Bearer .."}, {bearer + "e30.e30.e30", "Bearer e30.e30.e30"},
		{bearer + "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJhQGIifQ.e30", "Bearer eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJhQGIifQ.e30"},
		{bearer + "eyJhbGciOiJSUzI1NiJ9.eyJleHAiOjFlMzAwfQ.", "Bearer eyJhbGciOiJSUzI1NiJ9.eyJleHAiOjFlMzAwfQ."},
		{refresh, "Basic eDp4"}, {refresh + "client_secret=%00&refresh_token=x", "Bearer ya29.x"}, {refresh + "client_id=y", "bearer x"},
	} {
		f.Add(seed[0], seed[1])
	}
	c := newFuzzed(f)
	f.Fuzz(func(t *testing.T, form, authorization string) {
		c.send(t, http.MethodPost, "/token", authorization, form)
		c.send(t, http.MethodGet, projectPath, authorization, "")
	})
}
