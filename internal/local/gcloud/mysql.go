package gcloud

import (
	"context"
	"database/sql"
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

// userGrants is what Cloud SQL lets its users do: everything but what reaches the server itself (SUPER, FILE, SHUTDOWN).
const userGrants = "SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, RELOAD, PROCESS, REFERENCES, INDEX, ALTER, SHOW DATABASES, " +
	"CREATE TEMPORARY TABLES, LOCK TABLES, EXECUTE, REPLICATION SLAVE, REPLICATION CLIENT, CREATE VIEW, SHOW VIEW, " +
	"CREATE ROUTINE, ALTER ROUTINE, CREATE USER, EVENT, TRIGGER"

// systemDatabases are the server's own.
const systemDatabases = "'information_schema', 'mysql', 'performance_schema', 'sys'"

func quoteText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}

func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// databasesOf lists the databases of a server, or the one called name.
func databasesOf(ctx context.Context, root *sql.DB, name string) ([]mysqlDatabase, error) {
	rows, err := root.QueryContext(ctx, `SELECT schema_name, default_character_set_name, default_collation_name
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

// setDatabase creates a database or alters it. The charset and the collation must be words.
func setDatabase(ctx context.Context, root *sql.DB, verb string, db mysqlDatabase) error {
	statement := verb + " DATABASE " + quoteName(db.name)
	if db.charset != "" {
		statement += " CHARACTER SET " + db.charset
	}
	if db.collation != "" {
		statement += " COLLATE " + db.collation
	}
	_, err := root.ExecContext(ctx, statement)
	return err
}

func dropDatabase(ctx context.Context, root *sql.DB, name string) error {
	_, err := root.ExecContext(ctx, "DROP DATABASE IF EXISTS "+quoteName(name))
	return err
}

// usersOf lists the users that the API shows: all but the server's own, which can come from the machine itself only.
func usersOf(ctx context.Context, root *sql.DB) ([]mysqlUser, error) {
	rows, err := root.QueryContext(ctx, `SELECT user, host FROM mysql.user WHERE host <> 'localhost' ORDER BY user, host`)
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
		found = append(found, user)
	}
	return found, rows.Err()
}

// putUser makes a user, or sets the password of the one there is. A nil password leaves that as it is.
func putUser(ctx context.Context, root *sql.DB, user mysqlUser, password *string) error {
	create := "CREATE USER IF NOT EXISTS " + user.String()
	if password != nil {
		create += " IDENTIFIED BY " + quoteText(*password)
	}
	statements := []string{create}
	if password != nil {
		statements = append(statements, "ALTER USER "+user.String()+" IDENTIFIED BY "+quoteText(*password))
	}
	statements = append(statements, "GRANT "+userGrants+" ON *.* TO "+user.String()+" WITH GRANT OPTION")
	for _, statement := range statements {
		if _, err := root.ExecContext(ctx, statement); err != nil {
			// The statement holds the password, so the error names the user instead.
			return fmt.Errorf("set up the user %s: %w", user, err)
		}
	}
	return nil
}

func dropUser(ctx context.Context, root *sql.DB, user mysqlUser) error {
	if _, err := root.ExecContext(ctx, "DROP USER IF EXISTS "+user.String()); err != nil {
		return fmt.Errorf("drop the user %s: %w", user, err)
	}
	return nil
}
