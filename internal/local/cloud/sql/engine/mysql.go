package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// MySQL is the engine of a MySQL instance. It changes databases and users by SQL and reads them from the server, so the
// API shows changes made in SQL, as on Cloud SQL.
type MySQL struct{ Server }

// systemDatabases are the server's own databases.
var systemDatabases = []string{"information_schema", "mysql", "performance_schema", "sys"}

// Quoted returns the user in the form of SQL statements.
func (u User) Quoted() string { return quoteText(u.Name) + "@" + quoteText(u.Host) }

// quoteText returns a text as a literal in SQL.
func quoteText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}

// quoteName returns a name as a quoted identifier in SQL.
func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// Databases implements Engine.
func (m MySQL) Databases(ctx context.Context, name string) ([]Database, error) {
	rows, err := m.Root().QueryContext(ctx, `SELECT schema_name, default_character_set_name, default_collation_name
		FROM information_schema.schemata WHERE ? = '' OR schema_name = ? ORDER BY schema_name`, name, name)
	if err != nil {
		return nil, fmt.Errorf("list the databases: %w", err)
	}
	defer rows.Close()
	var found []Database
	for rows.Next() {
		var db Database
		if err := rows.Scan(&db.Name, &db.Charset, &db.Collation); err != nil {
			return nil, fmt.Errorf("list the databases: %w", err)
		}
		if !slices.Contains(systemDatabases, strings.ToLower(db.Name)) {
			found = append(found, db)
		}
	}
	return found, rows.Err()
}

// CreateDatabase implements Engine.
func (m MySQL) CreateDatabase(ctx context.Context, db Database) error {
	return m.setDatabase(ctx, "CREATE", db)
}

// AlterDatabase implements Engine.
func (m MySQL) AlterDatabase(ctx context.Context, db Database) error {
	return m.setDatabase(ctx, "ALTER", db)
}

// setDatabase creates or alters a database. The caller must validate the charset and the collation, which are not
// quoted.
func (m MySQL) setDatabase(ctx context.Context, verb string, db Database) error {
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

// DropDatabase implements Engine.
func (m MySQL) DropDatabase(ctx context.Context, name string) error {
	_, err := m.Root().ExecContext(ctx, "DROP DATABASE IF EXISTS "+quoteName(name))
	return err
}

// Users implements Engine.
func (m MySQL) Users(ctx context.Context) ([]User, error) {
	rows, err := m.Root().QueryContext(ctx, `SELECT user, host FROM mysql.user ORDER BY user, host`)
	if err != nil {
		return nil, fmt.Errorf("list the users: %w", err)
	}
	defer rows.Close()
	var found []User
	for rows.Next() {
		var user User
		if err := rows.Scan(&user.Name, &user.Host); err != nil {
			return nil, fmt.Errorf("list the users: %w", err)
		}
		if !m.Owns(user) {
			found = append(found, user)
		}
	}
	return found, rows.Err()
}

// Owns reports whether a user belongs to the engine. The runtime's root user has the server's own address as its host.
// The users that Dolt creates for its own tools have a host of this machine. Dolt treats the machine's two loopback
// addresses as the machine's name, and then as any other host of a user of the same name, so it would drop the wrong
// user.
func (m MySQL) Owns(user User) bool {
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1", m.Address()}, user.Host)
}

// PutUser implements Engine.
func (m MySQL) PutUser(ctx context.Context, user User, password *PasswordHash) error {
	statements := []string{"CREATE USER IF NOT EXISTS " + user.Quoted()}
	if password != nil {
		identified := " IDENTIFIED BY ''"
		if *password != "" {
			identified = " IDENTIFIED WITH mysql_native_password AS " + quoteText(string(*password))
		}
		statements = []string{statements[0] + identified, "ALTER USER " + user.Quoted() + identified}
	}
	for _, statement := range statements {
		if _, err := m.Root().ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("set up the user %s: %w", user.Quoted(), err)
		}
	}
	return nil
}

// DropUser implements Engine.
func (m MySQL) DropUser(ctx context.Context, user User) error {
	if _, err := m.Root().ExecContext(ctx, "DROP USER IF EXISTS "+user.Quoted()); err != nil {
		return fmt.Errorf("drop the user %s: %w", user.Quoted(), err)
	}
	return nil
}
