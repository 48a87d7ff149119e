package cloud

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// mysqlEngine is the engine of a MySQL instance. It changes databases and users by SQL and reads them from the server,
// so the API shows changes made in SQL, as on Cloud SQL.
type mysqlEngine struct{ Database }

// systemDatabases are the server's own databases.
var systemDatabases = []string{"information_schema", "mysql", "performance_schema", "sys"}

func (u sqlUser) quoted() string { return quoteText(u.Name) + "@" + quoteText(u.Host) }

func quoteText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}

func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func (m mysqlEngine) databases(ctx context.Context, name string) ([]sqlDatabase, error) {
	rows, err := m.Root().QueryContext(ctx, `SELECT schema_name, default_character_set_name, default_collation_name
		FROM information_schema.schemata WHERE ? = '' OR schema_name = ? ORDER BY schema_name`, name, name)
	if err != nil {
		return nil, fmt.Errorf("list the databases: %w", err)
	}
	defer rows.Close()
	var found []sqlDatabase
	for rows.Next() {
		var db sqlDatabase
		if err := rows.Scan(&db.Name, &db.Charset, &db.Collation); err != nil {
			return nil, fmt.Errorf("list the databases: %w", err)
		}
		if !slices.Contains(systemDatabases, strings.ToLower(db.Name)) {
			found = append(found, db)
		}
	}
	return found, rows.Err()
}

func (m mysqlEngine) createDatabase(ctx context.Context, db sqlDatabase) error {
	return m.setDatabase(ctx, "CREATE", db)
}

func (m mysqlEngine) alterDatabase(ctx context.Context, db sqlDatabase) error {
	return m.setDatabase(ctx, "ALTER", db)
}

// setDatabase creates or alters a database. The caller must validate the charset and the collation, which are not
// quoted.
func (m mysqlEngine) setDatabase(ctx context.Context, verb string, db sqlDatabase) error {
	statement := verb + " DATABASE " + quoteName(db.Name)
	if db.Charset != "" {
		statement += " CHARACTER SET " + db.Charset
	}
	if db.Collation != "" {
		statement += " COLLATE " + db.Collation
	}
	_, err := m.Root().ExecContext(ctx, statement)
	return err
}

func (m mysqlEngine) dropDatabase(ctx context.Context, name string) error {
	_, err := m.Root().ExecContext(ctx, "DROP DATABASE IF EXISTS "+quoteName(name))
	return err
}

func (m mysqlEngine) users(ctx context.Context) ([]sqlUser, error) {
	rows, err := m.Root().QueryContext(ctx, `SELECT user, host FROM mysql.user ORDER BY user, host`)
	if err != nil {
		return nil, fmt.Errorf("list the users: %w", err)
	}
	defer rows.Close()
	var found []sqlUser
	for rows.Next() {
		var user sqlUser
		if err := rows.Scan(&user.Name, &user.Host); err != nil {
			return nil, fmt.Errorf("list the users: %w", err)
		}
		if !m.owns(user) {
			found = append(found, user)
		}
	}
	return found, rows.Err()
}

// owns reports whether a user belongs to the engine. The runtime's root user has the server's own address as its host.
// The users that Dolt creates for its own tools have a host of this machine. Dolt treats the machine's two loopback
// addresses as the machine's name, and then as any other host of a user of the same name, so it would drop the wrong
// user.
func (m mysqlEngine) owns(user sqlUser) bool {
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1", m.Address()}, user.Host)
}

func (m mysqlEngine) putUser(ctx context.Context, user sqlUser, password *passwordHash) error {
	statements := []string{"CREATE USER IF NOT EXISTS " + user.quoted()}
	if password != nil {
		identified := " IDENTIFIED BY ''"
		if *password != "" {
			identified = " IDENTIFIED WITH mysql_native_password AS " + quoteText(string(*password))
		}
		statements = []string{statements[0] + identified, "ALTER USER " + user.quoted() + identified}
	}
	for _, statement := range statements {
		if _, err := m.Root().ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("set up the user %s: %w", user.quoted(), err)
		}
	}
	return nil
}

func (m mysqlEngine) dropUser(ctx context.Context, user sqlUser) error {
	if _, err := m.Root().ExecContext(ctx, "DROP USER IF EXISTS "+user.quoted()); err != nil {
		return fmt.Errorf("drop the user %s: %w", user.quoted(), err)
	}
	return nil
}
