package cloud_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/api/iam/v1"
	"google.golang.org/api/logging/v2"
	"google.golang.org/api/sqladmin/v1beta4"
	"google.golang.org/genproto/googleapis/cloud/audit"
	"google.golang.org/protobuf/encoding/protojson"
)

// audited is an entry of the audit log, in Google's own types.
type audited struct {
	*logging.LogEntry
	*audit.AuditLog
}

func (a audited) String() string {
	return fmt.Sprintf("%s %s %d", a.MethodName, a.ResourceName, a.GetStatus().GetCode())
}

// auditLog reads the audit log with Google's own types. It fails for a field that they do not have.
func (c *emulator) auditLog() (entries []audited, text string) {
	c.t.Helper()
	content, err := os.ReadFile(filepath.Join(c.dir, "audit.jsonl"))
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		var entry logging.LogEntry
		decoder := json.NewDecoder(strings.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&entry); err != nil {
			c.t.Fatalf("%v: %s", err, line)
		}
		payload := map[string]json.RawMessage{}
		if err := json.Unmarshal(entry.ProtoPayload, &payload); err != nil {
			c.t.Fatal(err)
		}
		if got := string(payload["@type"]); got != `"type.googleapis.com/google.cloud.audit.AuditLog"` {
			c.t.Errorf("the type of the payload is %s", got)
		}
		delete(payload, "@type")
		rest, err := json.Marshal(payload)
		if err != nil {
			c.t.Fatal(err)
		}
		log := &audit.AuditLog{}
		if err := protojson.Unmarshal(rest, log); err != nil {
			c.t.Fatalf("%v: %s", err, line)
		}
		entries = append(entries, audited{&entry, log})
	}
	return entries, string(content)
}

// last returns the last entry of a method.
func (c *emulator) last(method string) audited {
	c.t.Helper()
	entries, text := c.auditLog()
	for _, entry := range slices.Backward(entries) {
		if entry.MethodName == method {
			return entry
		}
	}
	c.t.Fatalf("the audit log has no entry of %s: %s", method, text)
	return audited{}
}

func TestChangesAreInTheAuditLogWithoutSecrets(t *testing.T) {
	c := newEmulator(t, true)
	owner := c.owner()
	c.newInstance(owner, &sqladmin.Settings{})
	email, key := c.account("team-web", "roles/cloudsql.client")
	role, err := owner.iam.Projects.Roles.Create("projects/"+projectID, &iam.CreateRoleRequest{
		RoleId: "tenant", Role: &iam.Role{Stage: "GA", IncludedPermissions: []string{"cloudsql.users.create", "cloudsql.users.update", "cloudsql.instances.get"}},
	}).Do()
	if err != nil {
		t.Fatal(err)
	}
	c.grant("serviceAccount:"+email, role.Name)
	team := c.as(key)
	const password = "hush-hush-hush"
	call := team.sql.Users.Insert(projectID, "strata", &sqladmin.User{Name: "web", Host: "%", Password: password})
	call.Header().Set("X-Goog-Request-Reason", "strata run team-web/one")
	op, err := call.Do()
	c.waitSQL(team, op, err)
	op, err = team.sql.Users.Update(projectID, "strata", &sqladmin.User{Password: password + "2"}).Name("web").Host("%").Do()
	c.waitSQL(team, op, err)

	made := c.last("cloudsql.users.create")
	if made.ResourceName != "projects/"+projectID+"/instances/strata/users/web" || made.ServiceName != "cloudsql.googleapis.com" ||
		made.AuthenticationInfo.PrincipalEmail != email || made.GetStatus().GetCode() != 0 || made.Severity != "NOTICE" {
		t.Errorf("the entry of a new user is %s by %s, severity %s", made, made.AuthenticationInfo.PrincipalEmail, made.Severity)
	}
	if checked := made.AuthorizationInfo; len(checked) != 1 || !checked[0].Granted || checked[0].Permission != "cloudsql.users.create" {
		t.Errorf("the permission checks are %v", checked)
	}
	if got := made.RequestMetadata.RequestAttributes.Reason; got != "strata run team-web/one" || made.RequestMetadata.CallerIp != "127.0.0.1" {
		t.Errorf("the metadata are %v", made.RequestMetadata)
	}
	if made.Labels["strata.dev/role"] != role.Name || made.Labels["strata.dev/policy"] != "projects/"+projectID {
		t.Errorf("the labels are %v; want the role and the policy that granted the permission", made.Labels)
	}
	if got := c.last("cloudsql.users.update").ResourceName; got != made.ResourceName {
		t.Errorf("the resource of a changed password is %s", got)
	}
	if got := c.last("google.iam.admin.v1.CreateServiceAccount").ResourceName; got != "projects/"+projectID+"/serviceAccounts/"+email {
		t.Errorf("the resource of a new account is %s", got)
	}

	_, err = team.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: "x\x1b[31m/users/root"}).Do()
	refused(t, err, http.StatusForbidden)
	denied := c.last("cloudsql.databases.create")
	if denied.GetStatus().GetCode() != 7 || denied.AuthorizationInfo[0].Granted || denied.Severity != "ERROR" || denied.Labels != nil {
		t.Errorf("the entry of a denied call is %s, severity %s", denied, denied.Severity)
	}
	if !strings.HasSuffix(denied.ResourceName, "/instances/strata/databases/x\x1b[31m%2Fusers%2Froot") {
		t.Errorf("the name in a denied call is %q; want one segment", denied.ResourceName)
	}

	_, text := c.auditLog()
	private := struct {
		Key string `json:"private_key"`
	}{}
	if err := json.Unmarshal(key, &private); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{password, private.Key[40:80], c.token(key), "\x1b"} {
		if strings.Contains(text, secret) {
			t.Errorf("the audit log contains %q", secret)
		}
	}
	if unauthenticated, err := http.Post(c.url+"/sqladmin/sql/v1beta4/projects/"+projectID+"/instances", "application/json", bytes.NewReader(nil)); err != nil {
		t.Fatal(err)
	} else if unauthenticated.Body.Close(); unauthenticated.StatusCode != http.StatusUnauthorized {
		t.Errorf("a call without a login is answered with %s", unauthenticated.Status)
	}
	if _, after := c.auditLog(); after != text {
		t.Error("a call without a login has an entry, so that anybody could fill the log")
	}
}

// auditedFile lists the methods and resource names of all calls in the audit log.
const auditedFile = "testdata/audited.txt"

// TestEveryChangeHasItsMethodInTheAuditLog makes every call without a role. The reads have no entry.
func TestEveryChangeHasItsMethodInTheAuditLog(t *testing.T) {
	c := newEmulator(t, false)
	c.newBucket(c.storageAs(c.engineer), "strata-calls")
	email, key := c.account("caller")
	caller := &caller{emulator: c, token: c.token(key), member: "serviceAccount:" + email}
	var table strings.Builder
	for _, route := range c.Routes() {
		before, _ := c.auditLog()
		caller.make(route)
		after, _ := c.auditLog()
		if len(after) == len(before) {
			continue
		}
		entry := after[len(before)]
		if len(after) != len(before)+1 || entry.AuthenticationInfo.PrincipalEmail != email || entry.MonitoredResource() == "" {
			t.Errorf("%s has the entries %v", route, after[len(before):])
		}
		fmt.Fprintf(&table, "%s\n    %s %s %s\n", route, entry.MethodName, entry.ResourceName, entry.MonitoredResource())
	}
	if *update {
		if err := os.WriteFile(auditedFile, []byte(table.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(auditedFile)
	if err != nil {
		t.Fatal(err)
	}
	if table.String() != string(want) {
		t.Errorf("the audit log differs from %s: run the test with -update, then check the difference", auditedFile)
	}
}

// MonitoredResource returns the type of the entry's resource.
func (a audited) MonitoredResource() string { return a.Resource.Type }
