package engine_test

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
	"github.com/strata-platform/strata/internal/local/cloud/sql/engine/enginetest"
)

// checkNames checks the names of a database and a user of a MySQL instance.
func checkNames(database, charset, collation, user, host string) (ofDatabase, ofUser error) {
	family, _ := engine.FamilyOf("MYSQL_8_0")
	return engine.CheckDatabase(family, engine.Database{Name: database, Charset: charset, Collation: collation}),
		engine.CheckUserName(family, engine.User{Name: user, Host: host})
}

func TestAmbiguousNamesAreRejected(t *testing.T) {
	for _, name := range enginetest.HostileNames() {
		if err, _ := checkNames(name, "", "", "a", "%"); err == nil {
			t.Errorf("database %q was accepted", name)
		}
	}
	for _, name := range []string{
		"", "a@b", "a b", "a'b", `a\b`, "a/b", "a\x00", "%", "a%", "root'@'%", "é", ".a", "-a", strings.Repeat("a", 33),
		"mysql.sys", "MYSQL.SESSION", "mysql.infoschema", "event_scheduler", "Event_Scheduler", "__dolt_local_user__", "cloudsqladmin", "cloudsqlsuperuser",
	} {
		if _, err := checkNames("a", "", "", name, "%"); err == nil {
			t.Errorf("user %q was accepted", name)
		}
	}
	for _, host := range []string{"", " ", "a b", "%'", "a@b", "*", ".*", "(.*)", "[a-z]", "a/b", "10.0.0.0/8/", "é", "a\x00", strings.Repeat("a", 256)} {
		if _, err := checkNames("a", "", "", "a", host); err == nil {
			t.Errorf("host %q was accepted", host)
		}
	}
	for _, word := range []string{"utf8;", "utf8 ", "utf8'", "a`", "a/b", "%", "a\x00", "utf8 COLLATE x", strings.Repeat("a", 65)} {
		if err, _ := checkNames("a", word, "", "a", "%"); err == nil {
			t.Errorf("charset %q was accepted", word)
		}
		if err, _ := checkNames("a", "", word, "a", "%"); err == nil {
			t.Errorf("collation %q was accepted", word)
		}
	}
}

func TestNamesThatTeamsUseAreAccepted(t *testing.T) {
	for _, name := range []string{"web", "web_shop", "word-press", "Web2", "_a", "a$b", "0", "team-one_db", strings.Repeat("a", 64)} {
		user := name[:min(len(name), 32)]
		for _, host := range []string{"%", "10.%", "localhost", "192.168.1.0/255.255.255.0", "::1", "db.example.com", "10.0.0._"} {
			if ofDatabase, ofUser := checkNames(name, "utf8mb4", "utf8mb4_0900_ai_ci", user, host); ofDatabase != nil || ofUser != nil {
				t.Errorf("%s, %s@%s: %v, %v", name, user, host, ofDatabase, ofUser)
			}
		}
	}
}

// FuzzSQLNames looks for an accepted name that a URL, a path, a key or an identifier reads as another name.
func FuzzSQLNames(f *testing.F) {
	for _, name := range append(enginetest.HostileNames(), "web", "web_shop", "word-press", "a$b") {
		f.Add(name, "utf8mb4", "%")
		f.Add("a", name, name)
	}
	f.Fuzz(func(t *testing.T, name, word, host string) {
		ofDatabase, _ := checkNames(name, "", "", "a", "%")
		if ofDatabase == nil {
			stays(t, name)
			if len(name) > 64 || strings.HasPrefix(name, "-") {
				t.Errorf("%q was accepted", name)
			}
		}
		if err, _ := checkNames("a", word, word, "a", "%"); err == nil && word != "" {
			stays(t, word)
		}
		_, ofUser := checkNames("a", "", "", name, host)
		if ofUser == nil {
			stays(t, name)
			if strings.ContainsAny(name+host, "'\"`\\@\x00 \n") || len(name) > 32 || len(host) > 255 {
				t.Errorf("user %q of %q was accepted", name, host)
			}
		}
	})
}

// stays checks that a name has the same meaning in paths, URLs and queries.
func stays(t *testing.T, name string) {
	t.Helper()
	const folder = "/home/data"
	joined := filepath.Join(folder, name)
	if filepath.Dir(joined) != folder || filepath.Base(joined) != name || strings.HasPrefix(name, ".") {
		t.Errorf("%q as a path leaves its folder: %s", name, joined)
	}
	parsed, err := url.Parse("file://" + folder + "/" + name)
	if err != nil || parsed.Path != folder+"/"+name || parsed.RawQuery != "" || parsed.Fragment != "" {
		t.Errorf("%q differs in a URL: %+v, %v", name, parsed, err)
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
