package dolt_test

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/strata-platform/strata/internal/local/gcloud/dolt"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
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
	for range 2 { // the second finds nothing, which is no error
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
