package cloud

import (
	"context"
	"fmt"
	"slices"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// sqlPaper holds the databases and users of an unserved instance. It holds no passwords.
type sqlPaper struct {
	Databases []sqlDatabase `json:"databases,omitempty"`
	Users     []sqlUser     `json:"users,omitempty"`
}

// newPaper returns the databases and users of a new instance.
func newPaper(family sqlFamily) *sqlPaper {
	return &sqlPaper{
		Databases: []sqlDatabase{{Name: family.root, Charset: family.charset, Collation: family.collation}},
		Users:     []sqlUser{{Name: family.root}},
	}
}

// paperEngine is the engine of an instance that the emulator accepts but does not run. It keeps databases and users in
// the record of the instance.
type paperEngine struct {
	// read and write run a function in a transaction with the paper of the instance. write stores the paper afterwards.
	read, write func(func(*sqlPaper) error) error
}

func (p *sqlPaper) database(name string) int {
	return slices.IndexFunc(p.Databases, func(db sqlDatabase) bool { return db.Name == name })
}

func (p paperEngine) databases(_ context.Context, name string) (found []sqlDatabase, err error) {
	err = p.read(func(paper *sqlPaper) error {
		for _, db := range paper.Databases {
			if name == "" || db.Name == name {
				found = append(found, db)
			}
		}
		return nil
	})
	return found, err
}

func (p paperEngine) createDatabase(_ context.Context, db sqlDatabase) error {
	return p.write(func(paper *sqlPaper) error {
		if paper.database(db.Name) >= 0 {
			return api.LegacyInvalid("Invalid request: failed to create database %s. Detail: pq: database %q already exists", db.Name, db.Name)
		}
		paper.Databases = append(paper.Databases, db)
		return nil
	})
}

func (p paperEngine) alterDatabase(_ context.Context, db sqlDatabase) error {
	return p.write(func(paper *sqlPaper) error {
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

func (p paperEngine) dropDatabase(_ context.Context, name string) error {
	return p.write(func(paper *sqlPaper) error {
		paper.Databases = slices.DeleteFunc(paper.Databases, func(db sqlDatabase) bool { return db.Name == name })
		return nil
	})
}

func (p paperEngine) users(context.Context) (found []sqlUser, err error) {
	err = p.read(func(paper *sqlPaper) error {
		found = paper.Users
		return nil
	})
	return found, err
}

func (p paperEngine) putUser(_ context.Context, user sqlUser, _ *passwordHash) error {
	return p.write(func(paper *sqlPaper) error {
		if !slices.Contains(paper.Users, user) {
			paper.Users = append(paper.Users, user)
		}
		return nil
	})
}

func (p paperEngine) dropUser(_ context.Context, user sqlUser) error {
	return p.write(func(paper *sqlPaper) error {
		paper.Users = slices.DeleteFunc(paper.Users, func(u sqlUser) bool { return u == user })
		return nil
	})
}

func (p paperEngine) settle(context.Context, func(user, database string) sqlAccess) error { return nil }

func (p paperEngine) owns(sqlUser) bool { return false }
