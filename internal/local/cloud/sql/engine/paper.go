package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// Paper holds the databases and users of an unserved instance. It holds no passwords.
type Paper struct {
	Databases []Database `json:"databases,omitempty"`
	Users     []User     `json:"users,omitempty"`
}

// NewPaper returns the databases and users of a new instance.
func NewPaper(family Family) *Paper {
	return &Paper{
		Databases: []Database{{Name: family.Root, Charset: family.Charset, Collation: family.Collation}},
		Users:     []User{{Name: family.Root}},
	}
}

// PaperEngine is the engine of an instance that the emulator accepts but does not run. It keeps databases and users in
// the record of the instance.
type PaperEngine struct {
	// Read and Write run a function in a transaction with the paper of the instance. Write stores the paper afterwards.
	Read, Write func(func(*Paper) error) error
}

func (p *Paper) database(name string) int {
	return slices.IndexFunc(p.Databases, func(db Database) bool { return db.Name == name })
}

// Databases implements Engine.
func (p PaperEngine) Databases(_ context.Context, name string) (found []Database, err error) {
	err = p.Read(func(paper *Paper) error {
		for _, db := range paper.Databases {
			if name == "" || db.Name == name {
				found = append(found, db)
			}
		}
		return nil
	})
	return found, err
}

// CreateDatabase implements Engine.
func (p PaperEngine) CreateDatabase(_ context.Context, db Database) error {
	return p.Write(func(paper *Paper) error {
		if paper.database(db.Name) >= 0 {
			return api.LegacyInvalid("Invalid request: failed to create database %s. Detail: pq: database %q already exists", db.Name, db.Name)
		}
		paper.Databases = append(paper.Databases, db)
		return nil
	})
}

// AlterDatabase implements Engine.
func (p PaperEngine) AlterDatabase(_ context.Context, db Database) error {
	return p.Write(func(paper *Paper) error {
		at := paper.database(db.Name)
		if at < 0 {
			return fmt.Errorf("alter the database %s: it is gone", db.Name)
		}
		api.SetDefault(&db.Charset, paper.Databases[at].Charset)
		api.SetDefault(&db.Collation, paper.Databases[at].Collation)
		paper.Databases[at] = db
		return nil
	})
}

// DropDatabase implements Engine.
func (p PaperEngine) DropDatabase(_ context.Context, name string) error {
	return p.Write(func(paper *Paper) error {
		paper.Databases = slices.DeleteFunc(paper.Databases, func(db Database) bool { return db.Name == name })
		return nil
	})
}

// Users implements Engine.
func (p PaperEngine) Users(context.Context) (found []User, err error) {
	err = p.Read(func(paper *Paper) error {
		found = paper.Users
		return nil
	})
	return found, err
}

// PutUser implements Engine.
func (p PaperEngine) PutUser(_ context.Context, user User, _ *PasswordHash) error {
	return p.Write(func(paper *Paper) error {
		if !slices.Contains(paper.Users, user) {
			paper.Users = append(paper.Users, user)
		}
		return nil
	})
}

// DropUser implements Engine.
func (p PaperEngine) DropUser(_ context.Context, user User) error {
	return p.Write(func(paper *Paper) error {
		paper.Users = slices.DeleteFunc(paper.Users, func(u User) bool { return u == user })
		return nil
	})
}

// Settle implements Engine.
func (p PaperEngine) Settle(context.Context, func(user, database string) Access) error { return nil }

// Owns implements Engine.
func (p PaperEngine) Owns(User) bool { return false }
