package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// Unserved is the record of the databases and users of an instance that the emulator accepts but does not run. It
// contains no passwords.
type Unserved struct {
	Databases []Database `json:"databases,omitempty"`
	Users     []User     `json:"users,omitempty"`
}

// NewUnserved returns the databases and users of a new instance of a family.
func NewUnserved(family Family) *Unserved {
	return &Unserved{
		Databases: []Database{{Name: family.Root, Charset: family.Charset, Collation: family.Collation}},
		Users:     []User{{Name: family.Root}},
	}
}

// UnservedEngine is the Engine of an instance that the emulator accepts but does not run. It changes only the record of
// the instance.
type UnservedEngine struct {
	// Read and Write call a function in a transaction with the record of the instance. Write stores the record
	// afterwards.
	Read, Write func(func(*Unserved) error) error
}

func (u *Unserved) database(name string) int {
	return slices.IndexFunc(u.Databases, func(db Database) bool { return db.Name == name })
}

// Databases implements Engine.
func (u UnservedEngine) Databases(_ context.Context, name string) (found []Database, err error) {
	err = u.Read(func(record *Unserved) error {
		for _, db := range record.Databases {
			if name == "" || db.Name == name {
				found = append(found, db)
			}
		}
		return nil
	})
	return found, err
}

// CreateDatabase implements Engine.
func (u UnservedEngine) CreateDatabase(_ context.Context, db Database) error {
	return u.Write(func(record *Unserved) error {
		if record.database(db.Name) >= 0 {
			return api.LegacyInvalid("Invalid request: failed to create database %s. Detail: pq: database %q already exists", db.Name, db.Name)
		}
		record.Databases = append(record.Databases, db)
		return nil
	})
}

// AlterDatabase implements Engine.
func (u UnservedEngine) AlterDatabase(_ context.Context, db Database) error {
	return u.Write(func(record *Unserved) error {
		at := record.database(db.Name)
		if at < 0 {
			return fmt.Errorf("alter the database %s: it no longer exists", db.Name)
		}
		api.SetDefault(&db.Charset, record.Databases[at].Charset)
		api.SetDefault(&db.Collation, record.Databases[at].Collation)
		record.Databases[at] = db
		return nil
	})
}

// DropDatabase implements Engine.
func (u UnservedEngine) DropDatabase(_ context.Context, name string) error {
	return u.Write(func(record *Unserved) error {
		record.Databases = slices.DeleteFunc(record.Databases, func(db Database) bool { return db.Name == name })
		return nil
	})
}

// Users implements Engine.
func (u UnservedEngine) Users(context.Context) (found []User, err error) {
	err = u.Read(func(record *Unserved) error {
		found = record.Users
		return nil
	})
	return found, err
}

// PutUser implements Engine.
func (u UnservedEngine) PutUser(_ context.Context, user User, _ *PasswordHash) error {
	return u.Write(func(record *Unserved) error {
		if !slices.Contains(record.Users, user) {
			record.Users = append(record.Users, user)
		}
		return nil
	})
}

// DropUser implements Engine.
func (u UnservedEngine) DropUser(_ context.Context, user User) error {
	return u.Write(func(record *Unserved) error {
		record.Users = slices.DeleteFunc(record.Users, func(other User) bool { return other == user })
		return nil
	})
}

// SetGrants implements Engine.
func (u UnservedEngine) SetGrants(context.Context, func(user, database string) Access) error {
	return nil
}

// Owns implements Engine.
func (u UnservedEngine) Owns(User) bool { return false }
