package crash

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/process"
)

type state = process.State

func restartedOnce(s state) bool { return s.Restarts > 0 }

// database is a team's database with a table for these tests.
type database struct {
	t  *testing.T
	db *sql.DB
}

// database opens the database of the team web with the login that its Program created.
func (p platform) database() database {
	p.t.Helper()
	secret, err := p.Kubernetes().CoreV1().Secrets("team-web").Get(p.t.Context(), "sql-auth", metav1.GetOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	config := mysql.NewConfig()
	config.Net, config.Addr = "tcp", fmt.Sprintf("%s:%s", secret.Data["host"], secret.Data["port"])
	config.User, config.Passwd, config.DBName = string(secret.Data["username"]), string(secret.Data["password"]), string(secret.Data["database"])
	connector, err := mysql.NewConnector(config)
	if err != nil {
		p.t.Fatal(err)
	}
	d := database{p.t, sql.OpenDB(connector)}
	p.t.Cleanup(func() { d.db.Close() })
	d.exec("CREATE TABLE crash (n INT PRIMARY KEY)")
	return d
}

func (d database) exec(statement string, args ...any) {
	d.t.Helper()
	if _, err := d.db.ExecContext(d.t.Context(), statement, args...); err != nil {
		d.t.Fatalf("%s: %v", statement, err)
	}
}

func (d database) write(n int) {
	d.t.Helper()
	d.exec("INSERT INTO crash VALUES (?)", n)
}

// check fails the test unless the rows 1 to n exist.
func (d database) check(n int) {
	d.t.Helper()
	var rows int
	if err := d.db.QueryRowContext(d.t.Context(), "SELECT COUNT(*) FROM crash").Scan(&rows); err != nil || rows != n {
		d.t.Errorf("the table has %d rows (%v), want %d", rows, err, n)
	}
}
