package engine

import (
	"regexp"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// Teams choose the names of databases and users. The names become SQL identifiers, keys of the store and folders of the
// engine. Dolt opens the folder of a database by a URL, and so decodes the name again. The emulator therefore accepts
// only names that have the same meaning in all of these places. MySQL accepts more: every character except NUL in a
// quoted identifier (https://dev.mysql.com/doc/refman/8.0/en/identifiers.html). Every name passes the checks in this
// file before it reaches the engine or the store.
var (
	// databaseNames excludes the characters with a meaning in paths, in URLs, in the LIKE patterns of MySQL's grants
	// (except _) and in Dolt's revisions (db/branch, db@branch).
	databaseNames = regexp.MustCompile(`^[A-Za-z0-9_$][A-Za-z0-9_$-]{0,63}$`)
	// userNames excludes @, which ends the name in a definer.
	userNames = regexp.MustCompile(`^[A-Za-z0-9_$][A-Za-z0-9_.$+-]*$`)
	// userHosts matches host names, addresses, patterns of both, and addresses with a mask.
	userHosts  = regexp.MustCompile(`^[A-Za-z0-9_%.:-]{1,255}$|^[0-9.]{7,15}/[0-9.]{7,15}$`)
	charsets   = regexp.MustCompile(`^[A-Za-z0-9_]{0,64}$`)
	collations = regexp.MustCompile(`^[A-Za-z0-9_]{0,64}$`)
	// localCollations matches collations of PostgreSQL, such as en_US.UTF8.
	localCollations = regexp.MustCompile(`^[A-Za-z0-9_.@-]{0,64}$`)
)

// reservedUsers are the users of MySQL, Cloud SQL and Dolt, in lower case.
var reservedUsers = []string{
	"mysql.sys", "mysql.session", "mysql.infoschema", "event_scheduler", "__dolt_local_user__",
	"cloudsqladmin", "cloudsqlagent", "cloudsqlapplier", "cloudsqlexport", "cloudsqliamserviceaccount", "cloudsqliamuser",
	"cloudsqlimport", "cloudsqlobservabilityadmin", "cloudsqloneshot", "cloudsqlreplica", "cloudsqlsuperuser",
}

// Folded returns a name in the form for comparisons. Dolt compares the names of databases without regard to case, as
// MySQL does on some systems. Names are ASCII.
func Folded(name string) string { return strings.ToLower(name) }

// CheckDatabase refuses a database with a name, charset or collation that the family does not allow.
func CheckDatabase(family Family, db Database) error {
	if !databaseNames.MatchString(db.Name) || slices.Contains(family.own, Folded(db.Name)) {
		return api.LegacyInvalid("Invalid request: Incorrect database name '%s'.", api.Printable(db.Name))
	}
	known := collations
	if !family.Served {
		known = localCollations
	}
	if !charsets.MatchString(db.Charset) || !known.MatchString(db.Collation) {
		return api.LegacyInvalid("Invalid request: Unknown character set or collation.")
	}
	return nil
}

// CheckUserName refuses a user with a name or host that the family does not allow.
func CheckUserName(family Family, user User) error {
	switch {
	case user.Name == "" || len(user.Name) > family.longestUser:
		return api.LegacyInvalid("Invalid request: The user name must have 1 to %d characters.", family.longestUser)
	case !userNames.MatchString(user.Name) || slices.Contains(reservedUsers, Folded(user.Name)):
		return api.LegacyInvalid("Invalid request: Invalid value for name: %s.", api.Printable(user.Name))
	case family.AnyHost == "" && user.Host != "" || family.AnyHost != "" && !userHosts.MatchString(user.Host):
		return api.LegacyInvalid("Invalid request: Invalid value for host: %s.", api.Printable(user.Host))
	}
	return nil
}
