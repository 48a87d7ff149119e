package e2e

import (
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strings"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/rogpeppe/go-internal/testscript"
)

// MySQL's error numbers for a denied login.
const (
	mysqlDatabaseAccessDenied = 1044
	mysqlAccessDenied         = 1045
	mysqlUnknownDatabase      = 1049
	mysqlUnknownError         = 1105
)

func refusedByMySQL(err error) bool {
	var refusal *mysqldriver.MySQLError
	if !errors.As(err, &refusal) {
		return false
	}
	switch refusal.Number {
	case mysqlDatabaseAccessDenied, mysqlAccessDenied, mysqlUnknownDatabase:
		return true
	case mysqlUnknownError:
		// Dolt returns the message of 1044 for a database that a user may not use, but not the number.
		return strings.HasPrefix(refusal.Message, "Access denied for user ")
	}
	return false
}

// mysql: mysql HOST PORT USER PASSWORD DATABASE — logs in with a MySQL client and writes and reads a row.
func mysql(ts *testscript.TestScript, neg bool, args []string) {
	expect(ts, neg, tryMySQL(ts, args), refusedByMySQL)
}

func tryMySQL(_ *testscript.TestScript, args []string) error {
	db, err := openMySQL(args)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range []string{
		"CREATE TABLE IF NOT EXISTS e2e (n INT PRIMARY KEY)",
		"REPLACE INTO e2e VALUES (42)",
	} {
		if _, err := db.Exec(statement); err != nil {
			return err
		}
	}
	return readRow(db)
}

// openMySQL returns a client for HOST PORT USER PASSWORD DATABASE.
func openMySQL(args []string) (*sql.DB, error) {
	config := mysqldriver.NewConfig()
	config.Net, config.Addr = "tcp", net.JoinHostPort(args[0], args[1])
	config.User, config.Passwd, config.DBName = args[2], args[3], args[4]
	config.AllowNativePasswords = true
	connector, err := mysqldriver.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// readRow returns an error unless the database has the row that tryMySQL writes.
func readRow(db *sql.DB) error {
	var n int
	if err := db.QueryRow("SELECT n FROM e2e").Scan(&n); err != nil {
		return err
	}
	if n != 42 {
		return fmt.Errorf("read %d, want 42", n)
	}
	return nil
}

// row: row HOST PORT USER PASSWORD DATABASE — the row that the command mysql has written is still there.
func row(ts *testscript.TestScript, _ bool, args []string) {
	db, err := openMySQL(args)
	ts.Check(err)
	defer db.Close()
	ts.Check(readRow(db))
}
