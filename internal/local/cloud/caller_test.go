package cloud_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"

	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/iam/v1"
)

// caller makes the calls of the table as a service account. The test changes the role of the account.
type caller struct {
	*emulator
	token   string
	member  string
	role    string
	objects int // counts the objects that the calls created
}

// becomes gives the account exactly one role on the project, or none if the role is "".
func (c *caller) becomes(role string) {
	c.t.Helper()
	projects := c.owner().projects.Projects
	policy, err := projects.GetIamPolicy(projectID, &crm.GetIamPolicyRequest{}).Do()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, binding := range policy.Bindings {
		binding.Members = slices.DeleteFunc(binding.Members, func(member string) bool { return member == c.member })
	}
	if role != "" {
		policy.Bindings = append(policy.Bindings, &crm.Binding{Role: role, Members: []string{c.member}})
	}
	if _, err := projects.SetIamPolicy(projectID, &crm.SetIamPolicyRequest{Policy: policy}).Do(); err != nil {
		c.t.Fatal(err)
	}
	c.role = role
}

const customRole = "projects/" + projectID + "/roles/custom"

// gets gives the account exactly one role, a custom role with these permissions.
func (c *caller) gets(permissions ...string) {
	c.t.Helper()
	roles := c.owner().iam.Projects.Roles
	_, err := roles.Create("projects/"+projectID, &iam.CreateRoleRequest{RoleId: "custom", Role: &iam.Role{Stage: "GA"}}).Do()
	if err != nil && code(err) != http.StatusConflict {
		c.t.Fatal(err)
	}
	if c.role != customRole {
		c.becomes(customRole)
	}
	if _, err := roles.Patch(customRole, &iam.Role{IncludedPermissions: permissions}).UpdateMask("includedPermissions").Do(); err != nil {
		c.t.Fatal(err)
	}
}

var variables = regexp.MustCompile(`\{[a-zA-Z]+\}`)

// exampleOf returns the method of a route and a matching path: it takes the first of several alternatives, and values
// for the variables.
func exampleOf(route string, value func(variable string) string) (method, path string) {
	method, path, _ = strings.Cut(route, " ")
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		segments[i], _, _ = strings.Cut(segment, "|")
		if _, verb, ok := strings.Cut(segment, ":"); ok && strings.Contains(segment, "|") {
			segments[i] += ":" + verb
		}
	}
	path = variables.ReplaceAllStringFunc("/"+strings.Join(segments, "/"), value)
	// Google's clients read contents at the root.
	return method, strings.Replace(path, "/storage/xml/", "/", 1)
}

// make makes a call about missing objects, or with an empty request, so that an allowed call has no effect. It reports
// whether the emulator rejected the call.
func (c *caller) make(route string) (refused bool, answered string) {
	method, _, _ := strings.Cut(route, " ")
	_, path := exampleOf(route, func(name string) string {
		switch name {
		case "{project}":
			return projectID
		case "{account}":
			return "none@" + projectID + ".iam.gserviceaccount.com"
		case "{service}":
			return "none.googleapis.com"
		case "{bucket}", "{toBucket}":
			return "strata-calls"
		case "{toObject}":
			// Each call needs a new object, because overwriting one needs another permission.
			return c.newObject()
		case "{object}":
			if strings.HasSuffix(route, "/compose") {
				return c.newObject()
			}
			if oneOf([]string{"GET", "HEAD", "POST"}, method) {
				return "there"
			}
		}
		return "none"
	})
	query, body := "", ""
	switch {
	case strings.HasSuffix(route, "/b"):
		query = "?project=" + projectID
	case strings.HasPrefix(route, "PUT") && strings.HasSuffix(route, "/iam"):
		body = `{"etag":"b2xk"}`
	case strings.HasPrefix(route, "POST") && strings.HasSuffix(route, "/o"):
		query = "?uploadType=media&name=" + c.newObject()
	case strings.HasSuffix(route, "/compose"):
		body = `{"sourceObjects":[{"name":"there"}]}`
	}
	answer := httptest.NewRecorder()
	r := httptest.NewRequest(method, path+query, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+c.token)
	c.ServeHTTP(answer, r)
	if answer.Code >= 500 && answer.Code != http.StatusNotImplemented || answer.Code == http.StatusUnauthorized {
		c.t.Errorf("the response to %s %s is %d %s", method, path, answer.Code, answer.Body)
	}
	return answer.Code == http.StatusForbidden, answer.Body.String()
}

// newObject returns the name of a missing object.
func (c *caller) newObject() string {
	c.objects++
	return fmt.Sprintf("new-%d", c.objects)
}
