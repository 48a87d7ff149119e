package cloud_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	sqladmin "google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud"
)

// hostileNames returns names that change their meaning when they are decoded, joined to a path, folded or put into a
// statement.
func hostileNames() []string {
	names := []string{
		"", " ", ".", "..", "../hr", "a/b", `a\b`, "/etc/passwd", "~", "-", "-rf", "a/main", "a@main", "a@~1", "hr/main", "hr@HEAD",
		"%2e%2e%2f%2e%2e%2fhr%2fdata%2fsalaries", "%252e%252e", "%2E%2E%5C", "%", "%00", "a%", "a?b", "a#b", "a:b", "file:a", "a;b", "a b", " a", "a ",
		"a\x00b", "a\nb", "a\tb", "a\x7fb", "\xff\xfe", "\u202ea", "\uff0e\uff0e\uff0fhr", "\u2024\u2024", "\u2160", "\u017f", "\u212a", "\u0130", "\uff28\uff32", "hr\u200b", "hr\u0301",
		"a`b", "a'b", `a"b`, "a*", "*", "a.b", ".dolt", ".doltcfg", ".dolt_dropped_databases", "$(id)", "${HOME}", "{database}",
		"mysql", "MySQL", "information_schema", "INFORMATION_SCHEMA", "performance_schema", "sys", "SYS",
		strings.Repeat("a", 65), strings.Repeat("a", 5000), strings.Repeat("%2e%2e%2f", 20) + "etc",
	}
	return names
}

func TestNamesThatMeanSomethingElseAreRefused(t *testing.T) {
	for _, name := range hostileNames() {
		if err, _ := cloud.CheckNames(name, "", "", "a", "%"); err == nil {
			t.Errorf("database %q was accepted", name)
		}
	}
	for _, name := range []string{
		"", "a@b", "a b", "a'b", `a\b`, "a/b", "a\x00", "%", "a%", "root'@'%", "é", ".a", "-a", strings.Repeat("a", 33),
		"mysql.sys", "MYSQL.SESSION", "mysql.infoschema", "event_scheduler", "Event_Scheduler", "__dolt_local_user__", "cloudsqladmin", "cloudsqlsuperuser",
	} {
		if _, err := cloud.CheckNames("a", "", "", name, "%"); err == nil {
			t.Errorf("user %q was accepted", name)
		}
	}
	for _, host := range []string{"", " ", "a b", "%'", "a@b", "*", ".*", "(.*)", "[a-z]", "a/b", "10.0.0.0/8/", "é", "a\x00", strings.Repeat("a", 256)} {
		if _, err := cloud.CheckNames("a", "", "", "a", host); err == nil {
			t.Errorf("host %q was accepted", host)
		}
	}
	for _, word := range []string{"utf8;", "utf8 ", "utf8'", "a`", "a/b", "%", "a\x00", "utf8 COLLATE x", strings.Repeat("a", 65)} {
		if err, _ := cloud.CheckNames("a", word, "", "a", "%"); err == nil {
			t.Errorf("charset %q was accepted", word)
		}
		if err, _ := cloud.CheckNames("a", "", word, "a", "%"); err == nil {
			t.Errorf("collation %q was accepted", word)
		}
	}
}

func TestNamesThatTeamsUseAreAccepted(t *testing.T) {
	for _, name := range []string{"web", "web_shop", "word-press", "Web2", "_a", "a$b", "0", "team-one_db", strings.Repeat("a", 64)} {
		user := name[:min(len(name), 32)]
		for _, host := range []string{"%", "10.%", "localhost", "192.168.1.0/255.255.255.0", "::1", "db.example.com", "10.0.0._"} {
			if ofDatabase, ofUser := cloud.CheckNames(name, "utf8mb4", "utf8mb4_0900_ai_ci", user, host); ofDatabase != nil || ofUser != nil {
				t.Errorf("%s, %s@%s: %v, %v", name, user, host, ofDatabase, ofUser)
			}
		}
	}
}

// TestHostileNamesAreRefusedByTheAPI sends the names wherever a call takes a name. The errors must have Google's form,
// and nothing may change.
func TestHostileNamesAreRefusedByTheAPI(t *testing.T) {
	c := newEmulator(t, false)
	c.paperInstance()
	_, key := c.account("team-web", "roles/cloudsql.admin")
	token := c.token(key)
	before := fingerprintOf(t, c)
	const on = "/sqladmin/sql/v1beta4/projects/" + projectID + "/instances"
	for _, name := range hostileNames() {
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
			{"POST", on + "/paper/databases", `{"name":` + string(quoted) + `}`},
			{"POST", on + "/paper/databases", `{"name":"a","charset":` + string(quoted) + `x/"}`},
			{"PATCH", on + "/paper/databases/" + escaped, `{"charset":"UTF8"}`},
			{"GET", on + "/paper/databases/" + escaped, ""},
			{"DELETE", on + "/paper/databases/" + escaped, ""},
			{"POST", on, `{"name":` + string(quoted) + `,"settings":{"tier":"x"}}`},
			{"GET", on + "/" + escaped, ""},
			{"DELETE", on + "/" + escaped, ""},
			{"POST", on + "/" + escaped + "/databases", `{"name":"a"}`},
			{"GET", on + "/paper/users/" + escaped, ""},
			{"DELETE", on + "/paper/users?name=" + query + "&host=" + query, ""},
			{"PUT", on + "/paper/users?name=" + query + "&host=" + query, `{"password":"x"}`},
			{"POST", on + "/paper/users", `{"name":"a","host":` + string(quoted) + `x/"}`},
		} {
			if name == "" && request[0] == "GET" {
				continue // the path of a list
			}
			status, body := c.ask(request[0], request[1], token, request[2])
			if status < 400 || status >= 500 {
				t.Errorf("%s %s %s is answered with %d %s", request[0], request[1], request[2], status, body)
			}
		}
	}
	if fingerprintOf(t, c) != before {
		t.Error("a name that is refused has changed something")
	}
	status, body := c.ask(http.MethodPost, on+"/paper/databases", token, `{"name":"%2e%2e%2fhr"}`)
	if status != http.StatusBadRequest || !strings.Contains(body, `"message": "Invalid request: Incorrect database name '%2e%2e%2fhr'."`) || !strings.Contains(body, `"reason": "invalid"`) {
		t.Errorf("the refusal is %d %s", status, body)
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

// paperInstance creates an unserved instance, for tests that do not depend on an engine.
func (c *emulator) paperInstance() {
	c.t.Helper()
	owner := c.owner()
	op, err := owner.sql.Instances.Insert(projectID, &sqladmin.DatabaseInstance{
		Name: "paper", Region: "europe-west1", DatabaseVersion: "POSTGRES_16", Settings: &sqladmin.Settings{Tier: "db-f1-micro"},
	}).Do()
	c.waitSQL(owner, op, err)
}

// FuzzSQLNames looks for an accepted name that a URL, a path, a key or an identifier reads as another name.
func FuzzSQLNames(f *testing.F) {
	for _, name := range append(hostileNames(), "web", "web_shop", "word-press", "a$b") {
		f.Add(name, "utf8mb4", "%")
		f.Add("a", name, name)
	}
	f.Fuzz(func(t *testing.T, name, word, host string) {
		ofDatabase, _ := cloud.CheckNames(name, "", "", "a", "%")
		if ofDatabase == nil {
			stays(t, name)
			if len(name) > 64 || strings.HasPrefix(name, "-") {
				t.Errorf("%q was accepted", name)
			}
		}
		if err, _ := cloud.CheckNames("a", word, word, "a", "%"); err == nil && word != "" {
			stays(t, word)
		}
		_, ofUser := cloud.CheckNames("a", "", "", name, host)
		if ofUser == nil {
			stays(t, name)
			if strings.ContainsAny(name+host, "'\"`\\@\x00 \n") || len(name) > 32 || len(host) > 255 {
				t.Errorf("user %q of %q was accepted", name, host)
			}
		}
	})
}

// stays checks that a name means the same wherever it is read.
func stays(t *testing.T, name string) {
	t.Helper()
	const folder = "/home/data"
	joined := filepath.Join(folder, name)
	if filepath.Dir(joined) != folder || filepath.Base(joined) != name || strings.HasPrefix(name, ".") {
		t.Errorf("%q leaves its folder: %s", name, joined)
	}
	parsed, err := url.Parse("file://" + folder + "/" + name)
	if err != nil || parsed.Path != folder+"/"+name || parsed.RawQuery != "" || parsed.Fragment != "" {
		t.Errorf("%q is another one in a URL: %+v, %v", name, parsed, err)
	}
	if plain, err := url.PathUnescape(name); err != nil || plain != name {
		t.Errorf("%q is decoded to %q, %v", name, plain, err)
	}
	if strings.ContainsAny(name, "'\"`/\\@%;:#? ") || len(name) != len([]rune(name)) {
		t.Errorf("%q was accepted", name)
	}
	if lower, upper := strings.ToLower(name), strings.ToUpper(name); !strings.EqualFold(lower, upper) || len(lower) != len(upper) {
		t.Errorf("%q changes with its case", name)
	}
}
