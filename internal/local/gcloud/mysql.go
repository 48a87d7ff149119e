package gcloud

import (
	"context"
	"fmt"
	"strings"
)

// What the API does to a MySQL instance is done in SQL, and what it answers of databases and users is read from the
// server, so that a change made in SQL is seen as on Cloud SQL.

// anyHost is the host of a user that may come from anywhere, which is what the API makes by default.
const anyHost = "%"

type mysqlDatabase struct{ name, charset, collation string }

type mysqlUser struct{ name, host string }

func (u mysqlUser) String() string { return quoteText(u.name) + "@" + quoteText(u.host) }

// systemDatabases are the server's own.
const systemDatabases = "'information_schema', 'mysql', 'performance_schema', 'sys'"

func quoteText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}

func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// databasesOf lists the databases of a server, or the one called name.
func databasesOf(ctx context.Context, server Database, name string) ([]mysqlDatabase, error) {
	rows, err := server.Root().QueryContext(ctx, `SELECT schema_name, default_character_set_name, default_collation_name
		FROM information_schema.schemata
		WHERE lower(schema_name) NOT IN (`+systemDatabases+`) AND (? = '' OR schema_name = ?) ORDER BY schema_name`, name, name)
	if err != nil {
		return nil, fmt.Errorf("list the databases: %w", err)
	}
	defer rows.Close()
	var found []mysqlDatabase
	for rows.Next() {
		var db mysqlDatabase
		if err := rows.Scan(&db.name, &db.charset, &db.collation); err != nil {
			return nil, fmt.Errorf("list the databases: %w", err)
		}
		found = append(found, db)
	}
	return found, rows.Err()
}

// createDatabase makes a database and lets every user in.
func createDatabase(ctx context.Context, server Database, db mysqlDatabase) error {
	if err := setDatabase(ctx, server, "CREATE", db); err != nil {
		return err
	}
	users, err := usersOf(ctx, server)
	if err != nil {
		return err
	}
	for _, user := range users {
		if err := letIn(ctx, server, db.name, user); err != nil {
			return err
		}
	}
	return nil
}

// letIn gives a user all privileges on a database. Cloud SQL gives its users all but the server's own privileges on
// everything; in Dolt whoever may write everywhere may write the table of users too, make himself root and, with root's
// FILE privilege, read and write the files of the machine. So privileges are given database by database, and only the
// API makes databases.
func letIn(ctx context.Context, server Database, database string, user mysqlUser) error {
	if _, err := server.Root().ExecContext(ctx, "GRANT ALL PRIVILEGES ON "+quoteName(database)+".* TO "+user.String()); err != nil {
		return fmt.Errorf("let the user %s into the database %s: %w", user, database, err)
	}
	return nil
}

// setDatabase creates a database or alters it. The charset and the collation must be words.
func setDatabase(ctx context.Context, server Database, verb string, db mysqlDatabase) error {
	statement := verb + " DATABASE " + quoteName(db.name)
	if db.charset != "" {
		statement += " CHARACTER SET " + db.charset
	}
	if db.collation != "" {
		statement += " COLLATE " + db.collation
	}
	_, err := server.Root().ExecContext(ctx, statement)
	return err
}

func dropDatabase(ctx context.Context, server Database, name string) error {
	_, err := server.Root().ExecContext(ctx, "DROP DATABASE IF EXISTS "+quoteName(name))
	return err
}

// usersOf lists the users that the API shows: all but the server's own.
func usersOf(ctx context.Context, server Database) ([]mysqlUser, error) {
	rows, err := server.Root().QueryContext(ctx, `SELECT user, host FROM mysql.user ORDER BY user, host`)
	if err != nil {
		return nil, fmt.Errorf("list the users: %w", err)
	}
	defer rows.Close()
	var found []mysqlUser
	for rows.Next() {
		var user mysqlUser
		if err := rows.Scan(&user.name, &user.host); err != nil {
			return nil, fmt.Errorf("list the users: %w", err)
		}
		if !ownHost(server, user.host) {
			found = append(found, user)
		}
	}
	return found, rows.Err()
}

// ownHost tells whether the users of a host belong to the server: its own address, which the root user of the runtime
// comes from, and the machine itself, which the users that Dolt makes for its own tools come from.
func ownHost(server Database, host string) bool {
	return host == "localhost" || host == server.Address()
}

// putUser makes a user who may use every database, or sets the password of the one there is. A nil password leaves that
// as it is.
func putUser(ctx context.Context, server Database, user mysqlUser, password *string) error {
	statements := []string{"CREATE USER IF NOT EXISTS " + user.String()}
	if password != nil {
		identified := " IDENTIFIED BY " + quoteText(*password)
		statements = []string{statements[0] + identified, "ALTER USER " + user.String() + identified}
	}
	for _, statement := range statements {
		if _, err := server.Root().ExecContext(ctx, statement); err != nil {
			// The statement holds the password, so the error names the user instead.
			return fmt.Errorf("set up the user %s: %w", user, err)
		}
	}
	existing, err := databasesOf(ctx, server, "")
	if err != nil {
		return err
	}
	for _, db := range existing {
		if err := letIn(ctx, server, db.name, user); err != nil {
			return err
		}
	}
	return nil
}

func dropUser(ctx context.Context, server Database, user mysqlUser) error {
	if _, err := server.Root().ExecContext(ctx, "DROP USER IF EXISTS "+user.String()); err != nil {
		return fmt.Errorf("drop the user %s: %w", user, err)
	}
	return nil
}
