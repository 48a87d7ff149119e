package cloud

import (
	"context"
	"crypto/sha1" //nolint:gosec // MySQL's own way to keep a password
	"encoding/hex"
	"strings"

	"google.golang.org/api/sqladmin/v1beta4"
)

// sqlEngine manages the databases and the users of an instance.
type sqlEngine interface {
	// databases returns all databases, or only the database called name.
	databases(ctx context.Context, name string) ([]sqlDatabase, error)
	createDatabase(ctx context.Context, db sqlDatabase) error
	alterDatabase(ctx context.Context, db sqlDatabase) error
	dropDatabase(ctx context.Context, name string) error
	// users returns the users that the API shows: all except the engine's own.
	users(ctx context.Context) ([]sqlUser, error)
	// putUser creates a user, or sets the password of an existing user. A nil password keeps the old one.
	putUser(ctx context.Context, user sqlUser, password *passwordHash) error
	dropUser(ctx context.Context, user sqlUser) error
	// settle grants every user the databases in rights, and revokes the others.
	settle(ctx context.Context, rights sqlRights) error
	// owns reports whether a user belongs to the engine and not to the API.
	owns(user sqlUser) bool
}

type sqlDatabase struct {
	Name      string `json:"name"`
	Charset   string `json:"charset,omitempty"`
	Collation string `json:"collation,omitempty"`
}

type sqlUser struct {
	Name string `json:"name"`
	Host string `json:"host,omitempty"`
}

// passwordHash is the form in which MySQL stores a password. The emulator never stores the password itself.
type passwordHash string

func hashPassword(password string) passwordHash {
	if password == "" {
		return ""
	}
	once := sha1.Sum([]byte(password)) //nolint:gosec // as above
	twice := sha1.Sum(once[:])         //nolint:gosec // as above
	return passwordHash("*" + strings.ToUpper(hex.EncodeToString(twice[:])))
}

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
