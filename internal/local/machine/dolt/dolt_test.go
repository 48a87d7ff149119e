package dolt_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/strata-platform/strata/internal/local/machine/dolt"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/operator/sandbox"
)

const instance = "strata-local/shop"

func newRuntime(t *testing.T, dir string) *dolt.Runtime {
	t.Helper()
	binary := toolchaintest.Path(t, "dolt")
	runtime := dolt.New(dolt.Options{
		Binary: func(context.Context) (string, error) { return binary, nil },
		Dir:    filepath.Join(dir, "sql"),
		Logs:   filepath.Join(dir, "logs"),
	})
	t.Cleanup(func() {
		if err := runtime.Stop(instance); err != nil {
			t.Error(err)
		}
	})
	return runtime
}

func exec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func TestServerKeepsAddressAndDataOverRestart(t *testing.T) {
	dir := t.TempDir()
	first := newRuntime(t, dir)
	db, err := first.Start(t.Context(), instance)
	if err != nil {
		t.Fatal(err)
	}
	address := db.Address()
	exec(t, db.Root(), "CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY)", "INSERT INTO shop.orders VALUES (7)")
	if again, err := first.Start(t.Context(), instance); err != nil || again != db {
		t.Errorf("a second start returned %v, %v; want the server that runs", again, err)
	}
	if err := first.Stop(instance); err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", address+":3306"); err == nil {
		t.Error("the server still answers after Stop")
	}

	db, err = newRuntime(t, dir).Start(t.Context(), instance)
	if err != nil {
		t.Fatal(err)
	}
	if db.Address() != address {
		t.Errorf("address is %s after the restart, was %s", db.Address(), address)
	}
	var id int
	if err := db.Root().QueryRowContext(t.Context(), "SELECT id FROM shop.orders").Scan(&id); err != nil || id != 7 {
		t.Errorf("read %d, %v after the restart; want 7", id, err)
	}
}

func TestRootNeedsItsPassword(t *testing.T) {
	dir := t.TempDir()
	db, err := newRuntime(t, dir).Start(t.Context(), instance)
	if err != nil {
		t.Fatal(err)
	}
	anonymous, err := sql.Open("mysql", "root@tcp("+db.Address()+":3306)/")
	if err != nil {
		t.Fatal(err)
	}
	defer anonymous.Close()
	var refused *mysql.MySQLError
	if err := anonymous.PingContext(t.Context()); !errors.As(err, &refused) || refused.Number != 1045 {
		t.Errorf("root without a password: %v; want access denied", err)
	}
	info, err := os.Stat(filepath.Join(dir, "sql", instance, "root-password"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the password's file: %v, %v; want mode 0600", info, err)
	}
}

func TestEraseRemovesEverything(t *testing.T) {
	dir := t.TempDir()
	runtime := newRuntime(t, dir)
	if _, err := runtime.Start(t.Context(), instance); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second call finds no data and succeeds
		if err := runtime.Erase(t.Context(), instance); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "sql", instance)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the instance's folder is still there: %v", err)
	}
}

func TestKeptAddressInUseIsAnError(t *testing.T) {
	dir := t.TempDir()
	runtime := newRuntime(t, dir)
	db, err := runtime.Start(t.Context(), instance)
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.Stop(instance); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", db.Address()+":3306")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := runtime.Start(ctx, instance); err == nil || !strings.Contains(err.Error(), db.Address()) {
		t.Errorf("start on an address that is in use: %v; want an error that names it", err)
	}
}

func TestNameThatLeadsOutOfTheFolderIsRefused(t *testing.T) {
	runtime := dolt.New(dolt.Options{Dir: t.TempDir()})
	for _, name := range []string{"", "..", "../other", "a/../../b", "/etc", "A b"} {
		if _, err := runtime.Start(t.Context(), name); err == nil {
			t.Errorf("%q was accepted", name)
		}
		if err := runtime.Erase(t.Context(), name); err == nil {
			t.Errorf("erasing %q was accepted", name)
		}
	}
}

// TestServerOpensOnlyWhatItNeeds compares the open files of a server, after a write, with the files in Needs.
func TestServerOpensOnlyWhatItNeeds(t *testing.T) {
	dir := t.TempDir()
	runtime := newRuntime(t, dir)
	db, err := runtime.Start(t.Context(), instance)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, db.Root(), "CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY, word LONGTEXT)",
		"INSERT INTO shop.orders VALUES (1, REPEAT('x', 1000000))", "CREATE USER 'web'@'%'")
	needs := dolt.NeedsOf(filepath.Join(dir, "sql", instance), db.Address())
	if needs.Address != db.Address()+":3306" {
		t.Errorf("the server listens on %s", needs.Address)
	}
	offered := append([]string{filepath.Join(dir, "logs"), "/dev", "/proc", "/sys", "/etc", "/usr"}, append(needs.Reads, needs.Writes...)...)
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range files {
		if args, _ := os.ReadFile(file); !strings.Contains(string(args), "sql-server") || !strings.Contains(string(args), dir) {
			continue
		}
		open, err := filepath.Glob(filepath.Join(filepath.Dir(file), "fd", "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range open {
			path, err := os.Readlink(fd)
			if err != nil || !filepath.IsAbs(path) { // a pipe or a socket
				continue
			}
			seen++
			if !slices.ContainsFunc(offered, func(of string) bool { return path == of || strings.HasPrefix(path, of+"/") }) {
				t.Errorf("the server has %s open", path)
			}
		}
	}
	if seen == 0 {
		t.Error("the server has no file open")
	}
}

func TestALongPreparedStatementIsRefused(t *testing.T) {
	if err := sandbox.Check(); err != nil {
		t.Skipf("without a network of its own the server is reached directly: %v", err)
	}
	db, err := newRuntime(t, t.TempDir()).Start(t.Context(), instance)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, db.Root(), "CREATE DATABASE shop", "CREATE TABLE shop.words (word LONGTEXT)", "CREATE USER 'web'@'%' IDENTIFIED BY 'web'", "GRANT ALL ON shop.* TO 'web'@'%'")
	client, err := sql.Open("mysql", "web:web@tcp("+db.Address()+":3306)/shop")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	client.SetMaxIdleConns(-1) // A refusal ends the connection.
	for name, each := range map[string]struct {
		statement string
		refused   bool
	}{
		"short":           {"SELECT 1", false},
		"of a megabyte":   {"SELECT '" + strings.Repeat("x", 1<<20) + "'", false},
		"of megabytes":    {"SELECT " + strings.Repeat("-", 12<<20) + "1", true},
		"of many packets": {"SELECT " + strings.Repeat("-", 20<<20) + "1", true},
	} {
		statement, err := client.PrepareContext(t.Context(), each.statement)
		var refused *mysql.MySQLError
		switch {
		case each.refused && (!errors.As(err, &refused) || refused.Number != 1153), !each.refused && err != nil:
			t.Errorf("a prepared statement %s: %.200v", name, err)
		case err == nil:
			statement.Close()
		}
	}
	insert, err := client.PrepareContext(t.Context(), "INSERT INTO words VALUES (?)")
	if err != nil {
		t.Fatal(err)
	}
	defer insert.Close()
	if _, err := insert.ExecContext(t.Context(), strings.Repeat("\x16", 20<<20)); err != nil {
		t.Errorf("a parameter of many packets without a command: %.200v", err)
	}
}

func TestTheFilesOfOneInstanceAreNotAnothers(t *testing.T) {
	one, other := dolt.NeedsOf("/home/sql/strata-local/web", "127.1.1.1"), dolt.NeedsOf("/home/sql/strata-local/hr", "127.1.1.2")
	for _, path := range append(one.Reads, one.Writes...) {
		if !strings.HasPrefix(path, "/home/sql/strata-local/web/") {
			t.Errorf("an instance uses %s", path)
		}
	}
	if one.Address == other.Address {
		t.Error("two instances have one address")
	}
}
