package cloud_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/sql/engine/enginetest"
	"github.com/strata-platform/strata/test/long"
)

// neighbours are two teams on one instance, each with a database, a user and a connection.
type neighbours struct {
	*emulator
	web, hr *clients
	address string
	// attacker is a connection of team web's user to its database. victim is one of team hr's.
	attacker, victim *sql.Conn
}

func newNeighbours(t *testing.T) *neighbours {
	t.Helper()
	c := newEmulator(t, true)
	n := &neighbours{emulator: c, address: c.newInstance(c.owner(), &sqladmin.Settings{})}
	teams := c.tenants("web", "hr")
	n.web, n.hr = teams[0], teams[1]
	c.makeOwn(n.web, "strata", "web")
	c.makeOwn(n.hr, "strata", "hr")
	n.attacker, n.victim = n.session(t, "web"), n.session(t, "hr")
	n.must(t, n.attacker, "CREATE TABLE t (id INT PRIMARY KEY, word VARCHAR(80))")
	n.must(t, n.victim, "CREATE TABLE salaries (id INT PRIMARY KEY, amount INT)", "INSERT INTO salaries VALUES (1, 4711)")
	return n
}

// session returns one connection, as a user to the database of the same name.
func (n *neighbours) session(t *testing.T, name string) *sql.Conn {
	t.Helper()
	db, err := connect(t, n.address, name, name, name)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (n *neighbours) must(t *testing.T, conn *sql.Conn, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := ask(t, conn, statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// ask sends a statement and returns all results as text.
func ask(t *testing.T, conn *sql.Conn, statement string) (string, error) {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), statement)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	var all strings.Builder
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(sql.NullString)
		}
		if err := rows.Scan(values...); err != nil {
			return "", err
		}
		for _, value := range values {
			if text, ok := value.(*sql.NullString); ok {
				all.WriteString(text.String + "\t")
			}
		}
		all.WriteString("\n")
	}
	return all.String(), rows.Err()
}

// unharmed checks that team hr still has its data and its connection. after names the previous attack.
func (n *neighbours) unharmed(t *testing.T, after string) {
	t.Helper()
	if got, err := ask(t, n.victim, "SELECT amount FROM hr.salaries"); err != nil || strings.TrimSpace(got) != "4711" {
		t.Fatalf("after %s team hr reads %q, %v", after, got, err)
	}
	if got, err := ask(t, n.victim, "SHOW TABLES"); err != nil || strings.TrimSpace(got) != "salaries" {
		t.Fatalf("after %s team hr has the tables %q, %v", after, got, err)
	}
}

func (n *neighbours) connectionID(t *testing.T) string {
	t.Helper()
	id, err := ask(t, n.victim, "SELECT CONNECTION_ID()")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(id)
}

func TestAUserCannotReachAnotherTeam(t *testing.T) {
	n := newNeighbours(t)
	replaced := strings.NewReplacer("$ID", n.connectionID(t), "$ROOT", "'root'@'"+n.address+"'", "$DIR", n.dir)
	for _, attack := range attacks {
		attack = replaced.Replace(attack)
		if answer, err := ask(t, n.attacker, attack); err == nil {
			t.Errorf("%s: the statement succeeded and returned %q", attack, answer)
			n.must(t, n.attacker, "USE web")
		}
		n.unharmed(t, attack)
	}
	for _, login := range []string{"hr", "web"} {
		if _, err := connect(t, n.address, login, login, login); err != nil {
			t.Errorf("user %s: %v", login, err)
		}
	}
	n.nothingIn(t, "out", "copy")
	n.restart(true)
	n.victim = n.session(t, "hr")
	n.unharmed(t, "a restart")
	if got, err := ask(t, n.victim, "SELECT @@GLOBAL.max_connections"); err != nil || strings.TrimSpace(got) != "1000" {
		t.Errorf("max_connections is %q, %v", got, err)
	}
}

// TestDeeplyNestedStatementsDoNotEndTheServer sends statements for which the stack of the planner would grow without
// limit.
func TestDeeplyNestedStatementsDoNotEndTheServer(t *testing.T) {
	long.Test(t)
	n := newNeighbours(t)
	deep := strings.Repeat("!", 2_050_000) + "1"
	for name, steps := range map[string][]string{
		"a query":    {"SELECT " + deep},
		"a view":     {"CREATE VIEW deep AS SELECT " + deep},
		"a filter":   {"SELECT 1 FROM t WHERE " + deep},
		"a variable": {"SET @q = CONCAT('SELECT ', REPEAT('!', 2050000), '1')", "PREPARE s FROM @q"},
	} {
		attacker := n.session(t, "web")
		var err error
		for _, step := range steps {
			_, err = ask(t, attacker, step)
		}
		if err == nil || !strings.Contains(err.Error(), "nested deeper than 10000 levels") {
			t.Errorf("%s: %.200v", name, err)
		}
		n.unharmed(t, name)
	}
	// The server counts the parameters of a prepared statement before it plans the statement.
	if _, err := n.session(t, "web").PrepareContext(t.Context(), "SELECT "+deep); err == nil || !strings.Contains(err.Error(), "nested deeper than 10000 levels") {
		t.Errorf("a prepared statement: %.200v", err)
	}
	n.unharmed(t, "a prepared statement")
	long := "SELECT " + strings.Repeat("!", 12_000_000) + "1"
	for name, send := range map[string]func(*sql.Conn) error{
		"a long query": func(c *sql.Conn) error { _, err := ask(t, c, long); return err },
		"a long view":  func(c *sql.Conn) error { _, err := ask(t, c, "CREATE VIEW long AS "+long); return err },
	} {
		if err := send(n.session(t, "web")); err == nil {
			t.Errorf("%s succeeded", name)
		}
		n.unharmed(t, name)
	}
}

func TestAttacksInSeveralStatements(t *testing.T) {
	n := newNeighbours(t)
	replaced := strings.NewReplacer("$ROOT", "'root'@'"+n.address+"'", "$DIR", n.dir)
	for name, steps := range roundabouts {
		t.Run(name, func(t *testing.T) {
			attacker := n.session(t, "web")
			for _, step := range steps {
				if answer, err := ask(t, attacker, replaced.Replace(step)); err == nil && (strings.Contains(answer, "4711") || strings.Contains(answer, "salaries") || strings.Contains(answer, "\thr\t")) {
					t.Errorf("%s returned %q", step, answer)
				}
			}
			n.unharmed(t, name)
			if found, err := ask(t, n.session(t, "hr"), "SHOW DATABASES"); err != nil || strings.Contains(found, "squat") {
				t.Errorf("databases are %q, %v", found, err)
			}
		})
	}
	n.nothingIn(t, "out")
	if got, err := ask(t, n.victim, "SELECT @@GLOBAL.max_connections"); err != nil || strings.TrimSpace(got) != "1000" {
		t.Errorf("max_connections is %q, %v", got, err)
	}
}

// TestAUserCannotSeeAnotherTeam reads the tables that describe the server.
func TestAUserCannotSeeAnotherTeam(t *testing.T) {
	n := newNeighbours(t)
	statements := []string{"SHOW DATABASES", "SHOW SCHEMAS", "SHOW GRANTS", "SHOW EVENTS", "SHOW PROCEDURE STATUS", "SHOW TABLE STATUS", "SHOW OPEN TABLES", "SHOW ENGINE INNODB STATUS"}
	tables, err := ask(t, n.attacker, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'information_schema'")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(tables)
	if !slices.Contains(names, "COLUMNS") && !slices.Contains(names, "columns") {
		t.Fatalf("information_schema has %v", names)
	}
	for _, name := range names {
		statements = append(statements, "SELECT * FROM information_schema."+name)
	}
	for _, statement := range statements {
		answer, err := ask(t, n.attacker, statement)
		if err == nil && (strings.Contains(answer, "salaries") || slices.Contains(strings.FieldsFunc(answer, separates), "hr")) {
			t.Errorf("%s returns data of another team:\n%s", statement, lines(answer, "hr"))
		}
	}
}

func separates(r rune) bool { return strings.ContainsRune("\t\n `'@/", r) }

func lines(text, with string) string {
	var found []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.Contains(line, with) {
			found = append(found, line)
		}
	}
	return strings.Join(found[:min(len(found), 3)], "\n")
}

func TestUsersUseTheDatabasesOfTheirOwnTeam(t *testing.T) {
	n := newNeighbours(t)
	// The rules also hold for databases and users created later.
	for _, db := range []string{"web_shop", "pool"} {
		op, err := n.web.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: db}).Do()
		n.waitSQL(n.web, op, err)
	}
	n.must(t, n.attacker, "CREATE TABLE web_shop.goods (id INT PRIMARY KEY)", "CREATE TABLE pool.kept (id INT PRIMARY KEY)")
	op, err := n.web.sql.Users.Insert(projectID, "strata", &sqladmin.User{Name: "web_reader", Password: "x", Host: "127.%"}).Do()
	n.waitSQL(n.web, op, err)
	if db, err := connect(t, n.address, "web_reader", "x", "web_shop"); err != nil {
		t.Error(err)
	} else if _, err := db.ExecContext(t.Context(), "INSERT INTO web_shop.goods VALUES (1)"); err != nil {
		t.Error(err)
	}
	if _, err := ask(t, n.victim, "SELECT * FROM web_shop.goods"); err == nil {
		t.Error("a user of another team can read the database")
	}
	// An administrator's user may use all databases, as on Cloud SQL.
	owner := n.owner()
	op, err = owner.sql.Users.Insert(projectID, "strata", &sqladmin.User{Name: "admin", Password: "x"}).Do()
	n.waitSQL(owner, op, err)
	admin, err := connect(t, n.address, "admin", "x", "hr")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.ExecContext(t.Context(), "SELECT * FROM hr.salaries JOIN web_shop.goods"); err != nil {
		t.Error(err)
	}

	// A later database of the same name has another owner. Privileges on the first one do not outlive it.
	op, err = n.web.sql.Databases.Delete(projectID, "strata", "pool").Do()
	n.waitSQL(n.web, op, err)
	op, err = n.hr.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: "pool"}).Do()
	n.waitSQL(n.hr, op, err)
	n.must(t, n.victim, "CREATE TABLE pool.kept (id INT PRIMARY KEY)")
	for range 2 {
		if _, err := ask(t, n.session(t, "web"), "SELECT * FROM pool.kept"); err == nil {
			t.Error("a user can read the later database of another team with the same name")
		}
		n.restart(true)
		n.victim = n.session(t, "hr")
	}
	n.must(t, n.victim, "SELECT * FROM pool.kept")
	n.must(t, n.session(t, "web"), "SELECT * FROM web_shop.goods")
}

// TestTakeoversByTheAPI tries the attacks of TestATeamCannotTakeOverResourcesOfAnother on a real server instead of on
// records.
func TestTakeoversByTheAPI(t *testing.T) {
	n := newNeighbours(t)
	tried := append(takeovers(), ofRoot("root")...)
	for _, host := range []string{"%", "127.%", "127.0.0.1", "localhost", n.address, "::1", "1%"} {
		tried = append(tried, sqlChange{"user of the host " + host, 409, func(svc *sqladmin.Service, on string) (*sqladmin.Operation, error) {
			return svc.Users.Insert(projectID, on, &sqladmin.User{Name: "web", Host: host, Password: "taken"}).Do()
		}})
	}
	for _, takeover := range tried {
		_, err := takeover.do(n.hr.sql, "strata")
		if got := code(err); got != takeover.code && got != 400 {
			t.Errorf("%s: %v, want %d", takeover.name, err, takeover.code)
		}
	}
	for _, name := range enginetest.HostileNames() {
		if _, err := n.hr.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: name}).Do(); code(err) != 400 {
			t.Errorf("database %q: %v", name, err)
		}
	}
	n.must(t, n.attacker, "SELECT * FROM web.t")
	if _, err := connect(t, n.address, "web", "web", "web"); err != nil {
		t.Error(err)
	}
	_, err := connect(t, n.address, "web", "taken", "")
	deniedAccess(t, err)
	n.unharmed(t, "all of it")
}

// nothingIn checks that the server created no file or folder with these names.
func (n *neighbours) nothingIn(t *testing.T, names ...string) {
	t.Helper()
	for _, path := range filesBelow(t, n.dir) {
		for _, name := range names {
			if base := path[strings.LastIndexByte(path, '/')+1:]; base == name || base == "files."+name {
				t.Errorf("the server has created %s", path)
			}
		}
	}
}

func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		found = append(found, path)
		if errors.Is(err, fs.ErrNotExist) { // a file of the running server
			return nil
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
