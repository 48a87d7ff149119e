package main

import (
	"strings"

	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/mysql_db"
	ast "github.com/dolthub/vitess/go/vt/sqlparser"
)

// strictFactory makes the authorization of queries stricter than upstream's.
type strictFactory struct {
	upstream sql.AuthorizationHandlerFactory
}

// CreateHandler implements sql.AuthorizationHandlerFactory.
func (f strictFactory) CreateHandler(cat sql.Catalog) sql.AuthorizationHandler {
	return strictHandler{f.upstream.CreateHandler(cat), cat}
}

// strictHandler denies operations that need a privilege on the whole server to users without such a privilege. Upstream
// also accepts the privilege in the user's current database, so that every user of a database could create databases, and
// drop all visible ones.
type strictHandler struct {
	sql.AuthorizationHandler
	cat sql.Catalog
}

// HandleAuth implements sql.AuthorizationHandler.
func (h strictHandler) HandleAuth(ctx *sql.Context, state sql.AuthorizationQueryState, auth ast.AuthInformation) error {
	if (auth.TargetType == ast.AuthTargetType_Global || tellsOfOthers(ctx, auth)) && !h.superuser(ctx) {
		return sql.ErrPrivilegeCheckFailed.New("'" + ctx.Session.Client().User + "'")
	}
	return h.AuthorizationHandler.HandleAuth(ctx, state, auth)
}

// tellsOfOthers reports whether a statement reads the list of connections with the current statement of each user. Upstream
// denies SHOW PROCESSLIST to users, but shows them the table of the same name.
func tellsOfOthers(ctx *sql.Context, auth ast.AuthInformation) bool {
	const schema, table = "information_schema", "processlist"
	for i, name := range auth.TargetNames {
		if i == 0 || !strings.EqualFold(name, table) {
			continue
		}
		database := auth.TargetNames[i-1]
		if database == "" {
			database = ctx.GetCurrentDatabase()
		}
		if strings.EqualFold(database, schema) {
			return true
		}
	}
	return false
}

// superuser reports whether the session's user is the server's own. Without a table of users, no user is.
func (h strictHandler) superuser(ctx *sql.Context) bool {
	found, err := h.cat.Database(ctx, "mysql")
	if err != nil {
		return false
	}
	users, ok := found.(*mysql_db.MySQLDb)
	return ok && users.UserActivePrivilegeSet(ctx).Has(sql.PrivilegeType_Super)
}
