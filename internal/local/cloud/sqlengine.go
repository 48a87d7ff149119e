package cloud

import (
	"context"
	"crypto/sha1" //nolint:gosec // MySQL's own way to keep a password
	"database/sql"
	"encoding/hex"
	"strings"
)

// Database is the running server of an instance.
type Database interface {
	// Address returns the IP address of the server, which listens on port 3306.
	Address() string
	// Root returns a connection as the runtime's root user, whose host is the server's own address.
	Root() *sql.DB
}

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
	// settle grants every user the databases that access names, and revokes the others.
	settle(ctx context.Context, access func(user, database string) sqlAccess) error
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
