package engine

import (
	"strings"

	"google.golang.org/api/sqladmin/v1beta4"
)

// Family is a database engine that the API knows, such as MySQL.
type Family struct {
	Prefix string // prefix of the family's database versions
	// Served is true if the emulator runs a server for the family.
	Served bool
	// Root is the user that every instance has. AnyHost is the user host that matches every client; it is empty if the
	// family's users have no host. Charset and Collation are the defaults of a new database.
	Root, AnyHost, Charset, Collation string
	// own are the engine's own databases, in lower case. Clients can neither create nor change them.
	own         []string
	longestUser int
}

func families() []Family {
	return []Family{
		{
			Prefix: "MYSQL_", Served: true, Root: "root", AnyHost: "%", Charset: "utf8mb4", Collation: "utf8mb4_0900_ai_ci",
			own: systemDatabases, longestUser: 32,
		},
		{
			Prefix: "POSTGRES_", Root: "postgres", Charset: "UTF8", Collation: "en_US.UTF8", own: []string{"template0", "template1"}, longestUser: 63,
		},
	}
}

// FamilyOf returns the family of a database version. ok is false if the version is not emulated.
func FamilyOf(version string) (family Family, ok bool) {
	for _, family := range families() {
		if strings.HasPrefix(version, family.Prefix) {
			return family, true
		}
	}
	return Family{}, false
}

// Installed returns the text of an instance's databaseInstalledVersion. It names the emulator's engine.
func (f Family) Installed(version string) string {
	if f.Served {
		return version + " (emulated Google Cloud: Dolt)"
	}
	return version + " (emulated Google Cloud: no engine)"
}

// Warning returns the warning in operations on an instance of an unserved family. version is the instance's version.
func (f Family) Warning(version string) *sqladmin.ApiWarning {
	if f.Served {
		return nil
	}
	return &sqladmin.ApiWarning{
		Code: "SQL_API_WARNING_CODE_UNSPECIFIED",
		Message: "The emulated Google Cloud has no engine for " + version + ": the emulator stores the instance, its databases and its users, " +
			"but runs no server: clients cannot connect. Use MYSQL_8_0 for an instance with a server.",
	}
}
