package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Access says whether a user may use a database.
type Access int

// The values of Access. Unchanged keeps the existing grants, because the user or the database has no owner.
const (
	Unchanged Access = iota
	Granted
	Refused
)

// grant is a user's set of all privileges on a database.
type grant struct {
	user     User
	database string
}

// SetGrants grants and revokes all privileges on one database after the other. Cloud SQL instead grants its users all
// privileges on all databases, except the server's own privileges. In Dolt, a user with such privileges could also
// write to the table of users, and become the server's root.
func (m MySQL) SetGrants(ctx context.Context, access func(user, database string) Access) error {
	users, err := m.Users(ctx)
	if err != nil {
		return err
	}
	existing, err := m.Databases(ctx, "")
	if err != nil {
		return err
	}
	have, err := m.grants(ctx)
	if err != nil {
		return err
	}
	for _, user := range users {
		for _, db := range existing {
			one := grant{user, Folded(db.Name)}
			if access(user.Name, db.Name) == Granted && !slices.Contains(have, one) {
				if err := m.set(ctx, "GRANT ALL PRIVILEGES ON %s.* TO %s", user, db.Name); err != nil {
					return err
				}
			}
		}
	}
	for _, one := range have {
		stays := slices.ContainsFunc(existing, func(db Database) bool {
			return Folded(db.Name) == one.database && access(one.user.Name, db.Name) != Refused
		})
		if stays || m.Owns(one.user) {
			continue
		}
		if err := m.set(ctx, "REVOKE ALL ON %s.* FROM %s", one.user, one.database); err != nil {
			return err
		}
	}
	return nil
}

func (m MySQL) set(ctx context.Context, statement string, user User, database string) error {
	statement = fmt.Sprintf(statement, quoteName(database), user.Quoted())
	if _, err := m.Root().ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// grants returns the users' privileges on databases.
func (m MySQL) grants(ctx context.Context) ([]grant, error) {
	rows, err := m.Root().QueryContext(ctx, `SELECT user, host, db FROM mysql.db`)
	if err != nil {
		return nil, fmt.Errorf("list the rights on databases: %w", err)
	}
	defer rows.Close()
	var found []grant
	for rows.Next() {
		var one grant
		if err := rows.Scan(&one.user.Name, &one.user.Host, &one.database); err != nil {
			return nil, fmt.Errorf("list the rights on databases: %w", err)
		}
		one.database = strings.ToLower(one.database)
		found = append(found, one)
	}
	return found, rows.Err()
}
