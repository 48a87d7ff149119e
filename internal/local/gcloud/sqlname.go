package gcloud

import (
	"regexp"
	"slices"
	"strings"

	"google.golang.org/api/sqladmin/v1beta4"
)

// The names of what is in an instance come from teams, and become identifiers of SQL, keys of the store and folders of the
// engine, which decodes them again: Dolt opens the folder of a database by a URL. So only names that mean the same
// wherever they are read are taken: fewer than MySQL's, which takes every character but NUL in a quoted identifier
// (https://dev.mysql.com/doc/refman/8.0/en/identifiers.html). Nothing reaches the engine, or the store, that is not
// checked here.
var (
	// databaseNames leave out what a path, a URL, a pattern of LIKE in MySQL's grants other than _, and Dolt's revisions
	// (db/branch, db@branch) are made of.
	databaseNames = regexp.MustCompile(`^[A-Za-z0-9_$][A-Za-z0-9_$-]{0,63}$`)
	// userNames leave out @, which ends the name in a definer.
	userNames = regexp.MustCompile(`^[A-Za-z0-9_$][A-Za-z0-9_.$+-]*$`)
	// userHosts are names, addresses, patterns of both, and addresses with a mask.
	userHosts  = regexp.MustCompile(`^[A-Za-z0-9_%.:-]{1,255}$|^[0-9.]{7,15}/[0-9.]{7,15}$`)
	charsets   = regexp.MustCompile(`^[A-Za-z0-9_]{0,64}$`)
	collations = regexp.MustCompile(`^[A-Za-z0-9_]{0,64}$`)
	// localCollations are those of PostgreSQL: en_US.UTF8.
	localCollations = regexp.MustCompile(`^[A-Za-z0-9_.@-]{0,64}$`)
	flagNames       = regexp.MustCompile(`^[a-z][a-z0-9_.]{0,127}$`)
	flagValues      = regexp.MustCompile(`^[ -~]{0,1000}$`)
)

// reservedUsers belong to MySQL, to Cloud SQL and to Dolt, in lower case.
var reservedUsers = []string{
	"mysql.sys", "mysql.session", "mysql.infoschema", "event_scheduler", "__dolt_local_user__",
	"cloudsqladmin", "cloudsqlagent", "cloudsqlapplier", "cloudsqlexport", "cloudsqliamserviceaccount", "cloudsqliamuser",
	"cloudsqlimport", "cloudsqlobservabilityadmin", "cloudsqloneshot", "cloudsqlreplica", "cloudsqlsuperuser",
}

// folded is a name as it is compared: Dolt tells databases apart by it, and MySQL on some systems. Names are ASCII.
func folded(name string) string { return strings.ToLower(name) }

// checkDatabase refuses a database that cannot be one of a family.
func checkDatabase(family sqlFamily, db sqlDatabase) error {
	if !databaseNames.MatchString(db.Name) || slices.Contains(family.own, folded(db.Name)) {
		return invalidSQL("Invalid request: Incorrect database name '%s'.", shown(db.Name))
	}
	known := collations
	if !family.served {
		known = localCollations
	}
	if !charsets.MatchString(db.Charset) || !known.MatchString(db.Collation) {
		return invalidSQL("Invalid request: Unknown character set or collation.")
	}
	return nil
}

// checkUserName refuses a user that cannot be one of a family.
func checkUserName(family sqlFamily, user sqlUser) error {
	switch {
	case user.Name == "" || len(user.Name) > family.longestUser:
		return invalidSQL("Invalid request: The user name must have 1 to %d characters.", family.longestUser)
	case !userNames.MatchString(user.Name) || slices.Contains(reservedUsers, folded(user.Name)):
		return invalidSQL("Invalid request: Invalid value for name: %s.", shown(user.Name))
	case family.anyHost == "" && user.Host != "" || family.anyHost != "" && !userHosts.MatchString(user.Host):
		return invalidSQL("Invalid request: Invalid value for host: %s.", shown(user.Host))
	}
	return nil
}

// checkFlags refuses flags that no server has.
func checkFlags(flags []*sqladmin.DatabaseFlags) error {
	for _, flag := range flags {
		if flag == nil || !flagNames.MatchString(flag.Name) || !flagValues.MatchString(flag.Value) {
			return invalidSQL("Invalid request: Invalid flag for instance settings.databaseFlags.")
		}
	}
	return nil
}

// shown is a name for a refusal, which may hold anything: in one line, and not longer than a name can be.
func shown(name string) string {
	const longest = 80
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(name, "?"))
	if runes := []rune(name); len(runes) > longest {
		return string(runes[:longest]) + "..."
	}
	return name
}
