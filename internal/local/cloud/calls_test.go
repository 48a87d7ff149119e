package cloud_test

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/test/long"
)

// callsFile lists the required permissions of each call, and the roles that may make the call.
const callsFile = "testdata/calls.txt"

var update = flag.Bool("update", false, "write anew what tests compare with; read the difference against Google's documentation")

// rolesTried are the predefined roles that the test tries on each call.
func rolesTried() []string {
	return strings.Fields(`
		owner editor viewer browser
		cloudkms.admin cloudkms.cryptoKeyDecrypter cloudkms.cryptoKeyEncrypter cloudkms.cryptoKeyEncrypterDecrypter cloudkms.viewer
		cloudsql.admin cloudsql.client cloudsql.editor cloudsql.instanceUser cloudsql.viewer
		container.admin container.clusterAdmin container.clusterViewer container.developer container.viewer
		iam.roleAdmin iam.roleViewer iam.securityAdmin iam.securityReviewer iam.serviceAccountAdmin iam.serviceAccountCreator
		iam.serviceAccountDeleter iam.serviceAccountKeyAdmin iam.serviceAccountTokenCreator iam.serviceAccountUser
		iam.serviceAccountViewer iam.workloadIdentityUser
		logging.logWriter
		resourcemanager.projectIamAdmin
		serviceusage.serviceUsageAdmin serviceusage.serviceUsageConsumer serviceusage.serviceUsageViewer
		storage.admin storage.bucketViewer storage.objectAdmin storage.objectCreator storage.objectUser storage.objectViewer`)
}

// emulatedCall is one line of the table.
type emulatedCall struct {
	route       string
	permissions []string // empty if everybody may make the call
	roles       []string // the tried roles that may make the call
}

func (c emulatedCall) String() string {
	if len(c.permissions) == 0 {
		return c.route + "\n    anybody\n"
	}
	return c.route + "\n    " + strings.Join(c.permissions, " ") + ": " + strings.Join(c.roles, " ") + "\n"
}

func readCalls(t *testing.T) []emulatedCall {
	t.Helper()
	data, err := os.ReadFile(callsFile)
	if err != nil {
		t.Fatal(err)
	}
	var calls []emulatedCall
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] != ' ':
			calls = append(calls, emulatedCall{route: line})
		case line != "    anybody":
			last := &calls[len(calls)-1]
			permissions, roles, _ := strings.Cut(line, ":")
			last.permissions, last.roles = strings.Fields(permissions), strings.Fields(roles)
		}
	}
	return calls
}

// TestRolesOnEveryCall makes every call of the router with every role, and compares the outcome with the table.
func TestRolesOnEveryCall(t *testing.T) {
	long.Test(t)
	c := newEmulator(t, false)
	client := c.storageAs(c.engineer)
	c.newBucket(client, "strata-calls")
	if _, err := client.Objects.Insert("strata-calls", &storage.Object{Name: "there"}).Media(strings.NewReader("x")).Do(); err != nil {
		t.Fatal(err)
	}
	email, key := c.account("caller")
	caller := &caller{emulator: c, token: c.token(key), member: "serviceAccount:" + email}
	if *update {
		caller.writeCalls(c.Routes())
	}
	calls := readCalls(t)
	checkRoutes(t, calls, c.Routes())
	caller.becomes("")
	for _, call := range calls {
		caller.want(call, "no role", len(call.permissions) == 0)
	}
	for _, role := range rolesTried() {
		caller.becomes("roles/" + role)
		for _, call := range calls {
			caller.want(call, role, len(call.permissions) == 0 || slices.Contains(call.roles, role))
		}
	}
	alone := map[string]bool{}
	for _, call := range calls {
		for _, permission := range call.permissions {
			alone[permission] = true
		}
		if len(call.permissions) > 1 {
			caller.gets(call.permissions...)
			caller.want(call, "all that it takes", true)
		}
	}
	for permission := range alone {
		caller.gets(permission)
		for _, call := range calls {
			caller.want(call, permission+" alone", len(call.permissions) == 0 || len(call.permissions) == 1 && call.permissions[0] == permission)
		}
	}
}

// want makes a call. It checks that the emulator allows the call, or rejects it with the name of a required permission.
func (c *caller) want(call emulatedCall, with string, allowed bool) {
	c.t.Helper()
	refused, body := c.make(call.route)
	if refused == allowed {
		c.t.Errorf("%s with %s: refused is %t: %s", call.route, with, refused, body)
	}
	if refused && !names(body, call.permissions) && !strings.HasPrefix(call.route, "HEAD") {
		c.t.Errorf("%s with %s: the error does not contain %v: %s", call.route, with, call.permissions, body)
	}
}

func names(body string, permissions []string) bool {
	return slices.ContainsFunc(permissions, func(permission string) bool { return strings.Contains(body, permission) })
}

// checkRoutes compares the table with the router.
func checkRoutes(t *testing.T, calls []emulatedCall, routes []string) {
	t.Helper()
	listed := map[string]bool{}
	for _, call := range calls {
		listed[call.route] = true
		if !slices.Contains(routes, call.route) {
			t.Errorf("%s has %s, which is not emulated", callsFile, call.route)
		}
	}
	for _, route := range routes {
		if !listed[route] {
			t.Errorf("%s does not contain %s: run go test ./internal/local/cloud -run %s -update to add it, then check the new line", callsFile, route, t.Name())
		}
	}
}

var permissionNames = regexp.MustCompile(`[a-z]+\.[a-zA-Z]+\.[a-zA-Z]+`)

// writeCalls writes the table from the behaviour of the emulator.
func (c *caller) writeCalls(routes []string) {
	c.t.Helper()
	calls := map[string]*emulatedCall{}
	c.becomes("")
	for _, route := range routes {
		calls[route] = &emulatedCall{route: route}
		if refused, body := c.make(route); refused {
			calls[route].permissions = []string{c.firstPermission(body)}
		}
	}
	for _, call := range calls {
		for len(call.permissions) > 0 {
			c.gets(call.permissions...)
			refused, body := c.make(call.route)
			if !refused {
				break
			}
			call.permissions = append(call.permissions, c.firstPermission(body))
		}
	}
	for _, role := range rolesTried() {
		c.becomes("roles/" + role)
		for _, call := range calls {
			if refused, _ := c.make(call.route); !refused {
				call.roles = append(call.roles, role)
			}
		}
	}
	var table strings.Builder
	table.WriteString(`# Every call of the emulated Google Cloud: the permissions it takes, and who may make it of the roles that
# TestRolesOnEveryCall tries. That test fails where the router has a call that is not here.
#
# Source of the permissions: the pages on permissions in the documentation of each of Google's services.
`)
	for _, route := range routes {
		table.WriteString("\n" + calls[route].String())
	}
	if err := os.WriteFile(callsFile, []byte(table.String()), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

func (c *caller) firstPermission(refusal string) string {
	c.t.Helper()
	for _, name := range permissionNames.FindAllString(refusal, -1) {
		if cloud.IsKnown(name) {
			return name
		}
	}
	c.t.Fatalf("the error contains no permission: %s", refusal)
	return ""
}
