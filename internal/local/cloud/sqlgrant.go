package cloud

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// sqlAccess says whether a user may use a database.
type sqlAccess int

const (
	asBefore sqlAccess = iota // the user or the database has no owner: keep the present grants
	granted
	refusedAccess
)

// sqlGrant is a user's set of all privileges on a database.
type sqlGrant struct {
	user     sqlUser
	database string
}

// settle grants and revokes all privileges, database by database. Cloud SQL instead grants its users everything on all
// databases, except the server's own privileges. In Dolt, a user with such rights may write to the table of users too,
// and become the server's root.
func (m mysqlEngine) settle(ctx context.Context, access func(user, database string) sqlAccess) error {
	users, err := m.users(ctx)
	if err != nil {
		return err
	}
	existing, err := m.databases(ctx, "")
	if err != nil {
		return err
	}
	have, err := m.grants(ctx)
	if err != nil {
		return err
	}
	for _, user := range users {
		for _, db := range existing {
			one := sqlGrant{user, folded(db.Name)}
			if access(user.Name, db.Name) == granted && !slices.Contains(have, one) {
				if err := m.set(ctx, "GRANT ALL PRIVILEGES ON %s.* TO %s", user, db.Name); err != nil {
					return err
				}
			}
		}
	}
	for _, one := range have {
		stays := slices.ContainsFunc(existing, func(db sqlDatabase) bool {
			return folded(db.Name) == one.database && access(one.user.Name, db.Name) != refusedAccess
		})
		if stays || m.owns(one.user) {
			continue
		}
		if err := m.set(ctx, "REVOKE ALL ON %s.* FROM %s", one.user, one.database); err != nil {
			return err
		}
	}
	return nil
}

func (m mysqlEngine) set(ctx context.Context, statement string, user sqlUser, database string) error {
	statement = fmt.Sprintf(statement, quoteName(database), user.quoted())
	if _, err := m.Root().ExecContext(ctx, statement); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

// grants returns the users' privileges on databases.
func (m mysqlEngine) grants(ctx context.Context) ([]sqlGrant, error) {
	rows, err := m.Root().QueryContext(ctx, `SELECT user, host, db FROM mysql.db`)
	if err != nil {
		return nil, fmt.Errorf("list the rights on databases: %w", err)
	}
	defer rows.Close()
	var found []sqlGrant
	for rows.Next() {
		var one sqlGrant
		if err := rows.Scan(&one.user.Name, &one.user.Host, &one.database); err != nil {
			return nil, fmt.Errorf("list the rights on databases: %w", err)
		}
		one.database = strings.ToLower(one.database)
		found = append(found, one)
	}
	return found, rows.Err()
}
