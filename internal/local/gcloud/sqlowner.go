package gcloud

import (
	"net/http"
	"strings"

	"go.etcd.io/bbolt"
)

// sqlKind is what can belong to somebody in an instance.
type sqlKind string

const (
	databaseKind sqlKind = "database"
	userKind     sqlKind = "user"
)

// sqlOwner is who made a database or a user. Google Cloud keeps no such record: there, whoever may change one database or
// user of an instance may change all.
type sqlOwner struct {
	// Member is who made it, as policies name him.
	Member string `json:"member"`
	// Everywhere says that he could delete the instance then: what he makes is the instance's, and his users may use every
	// database.
	Everywhere bool `json:"everywhere,omitempty"`
}

// ownerKey is the key of the owner of a name. All users of a name have one owner, whatever their hosts: MySQL chooses
// among them by the address of the client.
func ownerKey(on string, kind sqlKind, name string) string {
	return on + "/" + string(kind) + "/" + folded(name)
}

// administers tells whether the caller may delete the instance, and so all that is in it.
func (s *Server) administers(tx *bbolt.Tx, c *call) (bool, error) {
	return s.allowed(tx, c.who, "cloudsql.instances.delete", onInstance(c))
}

// refusal says whose a name is. An insertion is refused as a conflict, other changes as forbidden.
func (o *sqlOwner) refusal(code int, kind sqlKind, name string) error {
	owner := "the administrators of the instance"
	if o != nil {
		_, owner, _ = strings.Cut(o.Member, ":")
	}
	reason := "notAuthorized"
	if code == http.StatusConflict {
		reason = "alreadyExists"
	}
	return sqlError(code, reason, "The %s %s belongs to %s, who made it. Only %s and those who may delete the instance can change it: choose another name, or ask them.",
		kind, shown(name), owner, owner)
}

// may refuses a change of what belongs to somebody else, with an HTTP status. The root user belongs to those who
// administer the instance. What earlier versions made belongs to nobody yet.
func (s *Server) may(tx *bbolt.Tx, c *call, on *instance, kind sqlKind, name string, code int) (*sqlOwner, error) {
	owner, err := get[sqlOwner](tx, sqlOwners, ownerKey(on.key(), kind, name))
	if err != nil {
		return nil, err
	}
	root := kind == userKind && folded(name) == on.family().root
	if owner == nil && !root || owner != nil && owner.Member == c.who.member {
		return owner, nil
	}
	administers, err := s.administers(tx, c)
	if err != nil || administers {
		return owner, err
	}
	return nil, owner.refusal(code, kind, name)
}

// claim makes a name the caller's before it is made in the engine, so that nothing is without an owner whenever the
// emulator is killed. It refuses a name that belongs to somebody else. made is false where the name has its owner, and
// where an administrator changes what has none.
func (s *Server) claim(c *call, on *instance, kind sqlKind, name string, code int) (made bool, err error) {
	err = s.store.update(func(tx *bbolt.Tx) error {
		owner, err := s.may(tx, c, on, kind, name, code)
		if err != nil || owner != nil {
			return err
		}
		administers, err := s.administers(tx, c)
		if err != nil || administers && code != http.StatusConflict {
			return err
		}
		made = true
		return put(tx, sqlOwners, ownerKey(on.key(), kind, name), sqlOwner{Member: c.who.member, Everywhere: administers})
	})
	return made, err
}

// allow refuses a change of what belongs to somebody else.
func (s *Server) allow(c *call, on *instance, kind sqlKind, name string) error {
	return s.store.view(func(tx *bbolt.Tx) error {
		_, err := s.may(tx, c, on, kind, name, http.StatusForbidden)
		return err
	})
}

// release forgets whose a name was, once nothing has it any more.
func (s *Server) release(on *instance, kind sqlKind, name string) error {
	return s.store.update(func(tx *bbolt.Tx) error { return remove(tx, sqlOwners, ownerKey(on.key(), kind, name)) })
}

// sqlAccess is whether a user may use a database.
type sqlAccess int

const (
	asBefore sqlAccess = iota // nothing is known of one of them
	granted
	refusedAccess
)

// sqlRights answers which user may use which database of an instance.
type sqlRights struct {
	root   string
	owners map[string]*sqlOwner // by the key without that of the instance
}

func (s *Server) rights(on *instance) (sqlRights, error) {
	found := sqlRights{root: on.family().root, owners: map[string]*sqlOwner{}}
	err := s.store.view(func(tx *bbolt.Tx) error {
		return each(tx, sqlOwners, on.key()+"/", func(key string, owner *sqlOwner) error {
			found.owners[strings.TrimPrefix(key, on.key())] = owner
			return nil
		})
	})
	return found, err
}

// of returns what a user may do with a database: everything if both have one owner, or if the user is one of the
// administrators'.
func (r sqlRights) of(user, database string) sqlAccess {
	of := r.owners[ownerKey("", userKind, user)]
	to := r.owners[ownerKey("", databaseKind, database)]
	switch {
	case folded(user) == r.root, of != nil && of.Everywhere, of != nil && to != nil && of.Member == to.Member:
		return granted
	case of == nil || to == nil:
		return asBefore
	}
	return refusedAccess
}
