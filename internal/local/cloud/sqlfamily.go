package cloud

import (
	"strings"

	sqladmin "google.golang.org/api/sqladmin/v1beta4"
)

// sqlFamily is a database engine that the API knows, such as MySQL.
type sqlFamily struct {
	prefix string // prefix of the family's database versions
	// served says whether the emulator runs a server for the family.
	served bool
	// root is the user that every instance has. anyHost is the user host that matches every client; it is empty if the
	// family's users have no host. charset and collation are the defaults of a new database.
	root, anyHost, charset, collation string
	// own are the engine's own databases, in lower case. Clients can neither create nor change them.
	own         []string
	longestUser int
}

func sqlFamilies() []sqlFamily {
	return []sqlFamily{
		{
			prefix: "MYSQL_", served: true, root: "root", anyHost: "%", charset: "utf8mb4", collation: "utf8mb4_0900_ai_ci",
			own: systemDatabases, longestUser: 32,
		},
		{
			prefix: "POSTGRES_", root: "postgres", charset: "UTF8", collation: "en_US.UTF8", own: []string{"template0", "template1"}, longestUser: 63,
		},
	}
}

// familyOf returns the family of a database version. ok is false if the version is not emulated.
func familyOf(version string) (family sqlFamily, ok bool) {
	for _, family := range sqlFamilies() {
		if strings.HasPrefix(version, family.prefix) {
			return family, true
		}
	}
	return sqlFamily{}, false
}

// installed returns the installed version that an instance shows. It names the emulator's engine.
func (f sqlFamily) installed(version string) string {
	if f.served {
		return version + " (emulated Google Cloud: Dolt)"
	}
	return version + " (emulated Google Cloud: no engine)"
}

// warning returns the warning that operations on an unserved instance carry.
func (f sqlFamily) warning(version string) *sqladmin.ApiWarning {
	if f.served {
		return nil
	}
	return &sqladmin.ApiWarning{
		Code: "SQL_API_WARNING_CODE_UNSPECIFIED",
		Message: "The emulated Google Cloud has no engine for " + version + ": the instance, its databases and its users are kept and answered, " +
			"it has no address, and nobody can connect to it. Use MYSQL_8_0 for one that runs.",
	}
}
