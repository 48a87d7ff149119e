package cloud_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/api/sqladmin/v1beta4"
)

// doltOf returns the PID of the instance's server.
func (c *emulator) doltOf(t *testing.T) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		args, _ := os.ReadFile(file)
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && strings.Contains(string(args), "sql-server") && strings.Contains(string(args), c.dir) {
			return pid
		}
	}
	t.Fatal("no server runs")
	return 0
}

// TestKilledServerLosesNoAcknowledgedWrite kills Dolt during the creation of databases and users through the API, and
// of rows by SQL.
func TestKilledServerLosesNoAcknowledgedWrite(t *testing.T) {
	c := newEmulator(t, true)
	owner := c.owner()
	address := c.newInstance(owner, &sqladmin.Settings{})
	op, err := owner.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: "web"}).Do()
	c.waitSQL(owner, op, err)
	op, err = owner.sql.Users.Insert(projectID, "strata", &sqladmin.User{Name: "web", Password: "web"}).Do()
	c.waitSQL(owner, op, err)
	db, err := connect(t, address, "web", "web", "web")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (id INT PRIMARY KEY)"); err != nil {
		t.Fatal(err)
	}
	made, written := map[string]bool{}, map[int]bool{}
	row := 0
	for round := range 3 {
		c.killWhile(t, func(i int) {
			name := fmt.Sprintf("round-%d-%d", round, i)
			if _, err := owner.sql.Databases.Insert(projectID, "strata", &sqladmin.Database{Name: name}).Do(); err == nil {
				made[name] = true
			}
			row++
			if _, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (?)", row); err == nil {
				written[row] = true
			}
		})
		waitFor(t, "the server is back", func() error {
			_, err := connect(t, address, "web", "web", "web")
			return err
		})
	}
	if len(made) < 3 || len(written) < 3 {
		t.Fatalf("only %d databases and %d rows were acknowledged", len(made), len(written))
	}
	for name := range made {
		if _, err := owner.sql.Databases.Get(projectID, "strata", name).Do(); err != nil {
			t.Errorf("database %s: %v", name, err)
		}
	}
	for id := range written {
		var got int
		if err := db.QueryRowContext(t.Context(), "SELECT id FROM t WHERE id = ?", id).Scan(&got); err != nil {
			t.Errorf("row %d: %v", id, err)
		}
	}
}

// killWhile kills the instance's server while it calls work repeatedly.
func (c *emulator) killWhile(t *testing.T, work func(i int)) {
	t.Helper()
	pid := c.doltOf(t)
	for i := range 8 {
		if i == 4 {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		work(i)
	}
}

// waitFor waits until check returns nil.
func waitFor(t *testing.T, what string, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("timed out waiting until %s: %v", what, err)
		case <-ticker.C:
		}
	}
}
