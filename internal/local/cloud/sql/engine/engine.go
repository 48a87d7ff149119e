// Package engine manages the databases and users of one Cloud SQL instance: by SQL on its server, or in a record if the
// emulator runs no server for its family.
package engine

import (
	"context"
	"crypto/sha1" //nolint:gosec // MySQL's own way to keep a password
	"database/sql"
	"encoding/hex"
	"strings"
)

// Runtime runs the MySQL-protocol servers of Cloud SQL instances. The name of an instance here is "project/name".
type Runtime interface {
	// Start starts the server of an instance and returns when the server answers. An instance without a data folder
	// gets an empty one. If the server runs already, Start returns that server.
	Start(ctx context.Context, instance string) (Server, error)
	// Stop stops the server and keeps its data. It succeeds if no server runs.
	Stop(instance string) error
	// Erase stops the server and removes all of its data. It succeeds if there is no data.
	Erase(ctx context.Context, instance string) error
}

// Port is the port of every server. At ProxyPort of the server's address, the emulator serves Google's connectors, which
// know no other port.
const (
	Port      = "3306"
	ProxyPort = "3307"
)

// Server is the running server of an instance.
type Server interface {
	// Address returns the IP address of the server, which listens on Port.
	Address() string
	// Root returns a connection as the runtime's root user, whose host is the server's own address.
	Root() *sql.DB
}

// Engine manages the databases and the users of an instance.
type Engine interface {
	// Databases returns all databases, or only the database called name.
	Databases(ctx context.Context, name string) ([]Database, error)
	CreateDatabase(ctx context.Context, db Database) error
	AlterDatabase(ctx context.Context, db Database) error
	DropDatabase(ctx context.Context, name string) error
	// Users returns the users that the API shows: all except the engine's own.
	Users(ctx context.Context) ([]User, error)
	// PutUser creates a user, or sets the password of an existing user. A nil password keeps the old one.
	PutUser(ctx context.Context, user User, password *PasswordHash) error
	DropUser(ctx context.Context, user User) error
	// SetGrants grants every user the databases to which access allows the user, and revokes the others.
	SetGrants(ctx context.Context, access func(user, database string) Access) error
	// Owns reports whether a user belongs to the engine and not to the API.
	Owns(user User) bool
}

// Database is a database of an instance.
type Database struct {
	Name      string `json:"name"`
	Charset   string `json:"charset,omitempty"`
	Collation string `json:"collation,omitempty"`
}

// User is a user of an instance. Its host restricts the addresses of its clients. It is empty in families without
// hosts.
type User struct {
	Name string `json:"name"`
	Host string `json:"host,omitempty"`
}

// PasswordHash is the form in which MySQL stores a password. The emulator never stores the password itself.
type PasswordHash string

// HashPassword returns the hash of a password. An empty password has an empty hash.
func HashPassword(password string) PasswordHash {
	if password == "" {
		return ""
	}
	once := sha1.Sum([]byte(password)) //nolint:gosec // as above
	twice := sha1.Sum(once[:])         //nolint:gosec // as above
	return PasswordHash("*" + strings.ToUpper(hex.EncodeToString(twice[:])))
}
