package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/dolthub/dolt/go/libraries/doltcore/sqle/dprocedures"
	"github.com/dolthub/dolt/go/libraries/utils/filesys"
	"github.com/dolthub/go-mysql-server/sql"
	"github.com/dolthub/go-mysql-server/sql/expression/function"
)

// procedures are the procedures of Dolt that stay: they change only the database in which a user calls them. A procedure
// that upstream adds is not available until this list contains it.
var procedures = []string{
	"dolt_add", "dolt_branch", "dolt_checkout", "dolt_cherry_pick", "dolt_clean", "dolt_commit", "dolt_commit_hash_out",
	"dolt_conflicts_resolve", "dolt_count_commits", "dolt_merge", "dolt_rebase", "dolt_reset", "dolt_revert", "dolt_rm",
	"dolt_stash", "dolt_tag", "dolt_verify_constraints",
}

// narrow removes, before the server starts, the procedures, functions and settings that reach beyond a database. No later
// code changes Dolt's tables of them.
func narrow() {
	dprocedures.DoltProcedures = slices.DeleteFunc(dprocedures.DoltProcedures, func(p sql.ExternalStoredProcedureDetails) bool {
		return !slices.Contains(procedures, p.Name)
	})
	function.BuiltIns = slices.DeleteFunc(function.BuiltIns, func(f sql.Function) bool { return f.FunctionName() == "load_file" })
	sql.SystemVariables = fixedVariables{sql.SystemVariables}
	sql.DefaultMySQLParser = shallowParser{sql.DefaultMySQLParser}
	sql.SetAuthorizationHandlerFactory(strictFactory{sql.GetAuthorizationHandlerFactory()})
}

// fixedVariables are the server's settings. No user can change them, by SET GLOBAL, SET PERSIST or otherwise.
type fixedVariables struct{ sql.SystemVariableRegistry }

// SetGlobal sets a variable for the server itself, which has no session, or one without a user.
func (v fixedVariables) SetGlobal(ctx *sql.Context, name string, value any) error {
	if ctx != nil && ctx.Session != nil && ctx.Session.Client().User != "" {
		return fmt.Errorf("access denied for user '%s': the setting %s of the server cannot be changed by SQL", ctx.Session.Client().User, name)
	}
	return v.SystemVariableRegistry.SetGlobal(ctx, name, value)
}

// unwritable is the file system of the settings that outlive the server. SET PERSIST and SET PERSIST_ONLY write there.
type unwritable struct{ filesys.ReadWriteFS }

// WriteFile returns an error.
func (unwritable) WriteFile(string, []byte, os.FileMode) error {
	return fmt.Errorf("access denied: the settings of the server cannot be changed by SQL")
}
