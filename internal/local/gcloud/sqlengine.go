package gcloud

import (
	"context"
	"crypto/sha1" //nolint:gosec // MySQL's own way to keep a password
	"encoding/hex"
	"strings"

	"google.golang.org/api/sqladmin/v1beta4"
)

// sqlEngine is what keeps the databases and the users of an instance.
type sqlEngine interface {
	// databases lists the databases, or the one called name.
	databases(ctx context.Context, name string) ([]sqlDatabase, error)
	createDatabase(ctx context.Context, db sqlDatabase) error
	alterDatabase(ctx context.Context, db sqlDatabase) error
	dropDatabase(ctx context.Context, name string) error
	// users lists the users that the API shows: all but the engine's own.
	users(ctx context.Context) ([]sqlUser, error)
	// putUser makes a user, or sets the password of the one there is. A nil password leaves that as it is.
	putUser(ctx context.Context, user sqlUser, password *passwordHash) error
	dropUser(ctx context.Context, user sqlUser) error
	// settle lets every user into the databases that he may use, and out of the others.
	settle(ctx context.Context, rights sqlRights) error
	// owns tells whether a user belongs to the engine and not to the API.
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

// passwordHash is what MySQL keeps of a password. Nothing here keeps the password itself.
type passwordHash string

func hashPassword(password string) passwordHash {
	if password == "" {
		return ""
	}
	once := sha1.Sum([]byte(password)) //nolint:gosec // as above
	twice := sha1.Sum(once[:])         //nolint:gosec // as above
	return passwordHash("*" + strings.ToUpper(hex.EncodeToString(twice[:])))
}

// sqlFamily is a kind of database that the API knows.
type sqlFamily struct {
	prefix string // of the database versions
	// served tells whether there is an engine behind it.
	served bool
	// root is the user that every instance has, from anywhere; charset and collation are what a new database has.
	root, anyHost, charset, collation string
	// own are the databases that belong to the engine and cannot be made or changed, in lower case.
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

// familyOf returns the family of a database version; ok is false where it is not emulated.
func familyOf(version string) (family sqlFamily, ok bool) {
	for _, family := range sqlFamilies() {
		if strings.HasPrefix(version, family.prefix) {
			return family, true
		}
	}
	return sqlFamily{}, false
}

// installed is what an instance tells of what is behind it.
func (f sqlFamily) installed(version string) string {
	if f.served {
		return version + " (emulated Google Cloud: Dolt)"
	}
	return version + " (emulated Google Cloud: no engine)"
}

// warning is what operations on an instance without an engine carry.
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
