package sql

import (
	"context"
	"net/http"
	"strings"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
)

// nameKind distinguishes the names of databases from those of users.
type nameKind string

const (
	databaseKind nameKind = "database"
	userKind     nameKind = "user"
)

// ownerRecord is the owner of a database or a user: the member that created it. Google Cloud has no owners: there, a
// member who may change one database or user of an instance may change all of them.
type ownerRecord struct {
	// Member is the owner, in the form that policies use.
	Member string `json:"member"`
	// Everywhere is true if the owner was an administrator, with permission to delete the instance, at the creation of
	// the database or user. Users of an administrator may use every database.
	Everywhere bool `json:"everywhere,omitempty"`
}

// ownerKey returns the store's key of a name's owner. Users with the same name and different hosts have one owner,
// because MySQL chooses among them by the client's address.
func ownerKey(on string, kind nameKind, name string) string {
	return on + "/" + string(kind) + "/" + engine.Folded(name)
}

// administers reports whether the caller may delete the instance, and therefore everything in it.
func (s *service) administers(tx *bbolt.Tx, c *api.Call) (bool, error) {
	return s.Allowed(tx, c.Who, "cloudsql.instances.delete", onInstance(c))
}

// refusal returns an error that names the owner. Creating an owned name is a conflict; changing it is forbidden.
func (o *ownerRecord) refusal(code int, kind nameKind, name string) error {
	reason := "notAuthorized"
	if code == http.StatusConflict {
		reason = "alreadyExists"
	}
	name = api.Printable(name)
	if o == nil {
		return api.LegacyError(code, reason, "The %s %s belongs to the administrators of the instance. Only a principal with cloudsql.instances.delete may change it: "+
			"choose another name, or ask an administrator.", kind, name)
	}
	_, owner, _ := strings.Cut(o.Member, ":")
	return api.LegacyError(code, reason, "The %s %s belongs to %s, which created it. Only this principal, or one with cloudsql.instances.delete, may change it: "+
		"choose another name, or ask %[3]s.", kind, name, owner)
}

// checkOwner returns an error with the HTTP status code if a database or user belongs to another owner than the caller.
// The root user belongs to the administrators of the instance. Databases and users from earlier versions of the
// emulator have no owner. checkOwner returns the owner, or nil.
func (s *service) checkOwner(tx *bbolt.Tx, c *api.Call, on *instance, kind nameKind, name string, code int) (*ownerRecord, error) {
	owner, err := store.Get[ownerRecord](tx, owners, ownerKey(on.key(), kind, name))
	if err != nil {
		return nil, err
	}
	root := kind == userKind && engine.Folded(name) == on.family().Root
	if owner == nil && !root || owner != nil && owner.Member == c.Who.Member {
		return owner, nil
	}
	administers, err := s.administers(tx, c)
	if err != nil || administers {
		return owner, err
	}
	return nil, owner.refusal(code, kind, name)
}

// claim makes the caller the owner of a name. It runs before the engine creates the database or user, so that a kill of
// the emulator leaves no database or user without an owner. It returns an error for a name of another owner. made is
// false if the name already has an owner, or if an administrator changes a database or user without one.
func (s *service) claim(c *api.Call, on *instance, kind nameKind, name string, code int) (made bool, err error) {
	err = s.Store.Update(func(tx *bbolt.Tx) error {
		owner, err := s.checkOwner(tx, c, on, kind, name, code)
		if err != nil || owner != nil {
			return err
		}
		administers, err := s.administers(tx, c)
		if err != nil || administers && code != http.StatusConflict {
			return err
		}
		made = true
		return store.Put(tx, owners, ownerKey(on.key(), kind, name), ownerRecord{Member: c.Who.Member, Everywhere: administers})
	})
	return made, err
}

// requireOwner returns an error if a database or user belongs to another owner than the caller.
func (s *service) requireOwner(c *api.Call, on *instance, kind nameKind, name string) error {
	return s.Store.View(func(tx *bbolt.Tx) error {
		_, err := s.checkOwner(tx, c, on, kind, name, http.StatusForbidden)
		return err
	})
}

// release removes the owner of a name after the deletion of the last database or user of that name.
func (s *service) release(on *instance, kind nameKind, name string) error {
	return s.Store.Update(func(tx *bbolt.Tx) error { return store.Remove(tx, owners, ownerKey(on.key(), kind, name)) })
}

// rights decides which user may use which database of an instance.
type rights struct {
	root   string
	owners map[string]*ownerRecord // by ownerKey without the instance
}

func (s *service) rights(on *instance) (rights, error) {
	found := rights{root: on.family().Root, owners: map[string]*ownerRecord{}}
	err := s.Store.View(func(tx *bbolt.Tx) error {
		return store.Each(tx, owners, on.key()+"/", func(key string, owner *ownerRecord) error {
			found.owners[strings.TrimPrefix(key, on.key())] = owner
			return nil
		})
	})
	return found, err
}

// of returns a user's access to a database. The user has access if user and database have the same owner and are of the
// same team, or if the user belongs to the administrators.
func (r rights) of(user, database string) engine.Access {
	of := r.owners[ownerKey("", userKind, user)]
	to := r.owners[ownerKey("", databaseKind, database)]
	switch {
	case engine.Folded(user) == r.root, of != nil && of.Everywhere, of != nil && to != nil && of.Member == to.Member && sameTeam(user, database):
		return engine.Granted
	case of == nil || to == nil:
		return engine.Unchanged
	}
	return engine.Refused
}

// sameTeam reports whether the names of a user and a database may be of one team. A member that creates them for several
// teams begins each name with the team's name and an underscore. Other names are of the member's own team.
func sameTeam(user, database string) bool {
	one, _, is := strings.Cut(engine.Folded(user), "_")
	other, _, too := strings.Cut(engine.Folded(database), "_")
	return !is || !too || one == other
}

// setGrants grants the users of an instance the databases that they may use, and revokes the others.
func (s *service) setGrants(ctx context.Context, on *instance, eng engine.Engine) error {
	rights, err := s.rights(on)
	if err != nil {
		return err
	}
	return eng.SetGrants(ctx, rights.of)
}
