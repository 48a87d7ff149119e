package sql

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
)

// checkUser returns an error for a user of a type that is not emulated, or with limits that the engine would ignore.
func checkUser(wanted *sqladmin.User) error {
	if wanted.Type != "" && wanted.Type != "BUILT_IN" {
		return api.LegacyInvalid("Invalid request: users of the type %s are not emulated: use BUILT_IN.", wanted.Type)
	}
	for name, set := range map[string]bool{
		"databaseRoles":    len(wanted.DatabaseRoles) > 0,
		"dualPasswordType": wanted.DualPasswordType != "" && wanted.DualPasswordType != "NO_DUAL_PASSWORD",
		"passwordPolicy":   wanted.PasswordPolicy != nil,
	} {
		if set {
			return api.LegacyInvalid("Invalid request: %s is not emulated.", name)
		}
	}
	return nil
}

// insertUser creates a user, or sets a new password if the user exists, as Cloud SQL does.
func (s *service) insertUser(c *api.Call) (any, error) {
	var wanted sqladmin.User
	if err := c.Decode(&wanted); err != nil {
		return nil, err
	}
	if err := checkUser(&wanted); err != nil {
		return nil, err
	}
	on, eng, unlock, err := s.engine(c)
	if err != nil {
		return nil, err
	}
	defer unlock()
	family := on.family()
	user := engine.User{Name: wanted.Name, Host: wanted.Host}
	api.SetDefault(&user.Host, family.AnyHost)
	if err := engine.CheckUserName(family, user); err != nil {
		return nil, err
	}
	if eng.Owns(user) {
		return nil, api.LegacyInvalid("Invalid request: The users of the host %s belong to the server.", user.Host)
	}
	// The claim precedes the change of the server: a kill in between leaves an owner without a user, which the owner's next call
	// repairs, and never a user without an owner: another team could take such a user over.
	claimed, err := s.claim(c, on, userKind, user.Name, http.StatusConflict)
	if err != nil {
		return nil, err
	}
	hash := engine.HashPassword(wanted.Password)
	if err := eng.PutUser(c.Request.Context(), user, &hash); err != nil {
		err = engineRefusal("failed to create user "+user.Name, err)
		if claimed {
			err = errors.Join(err, s.releaseUser(c.Request.Context(), on, eng, user.Name))
		}
		return nil, err
	}
	if err := s.setGrants(c.Request.Context(), on, eng); err != nil {
		return nil, err
	}
	return s.doneInstanceOperation(c, on, "CREATE_USER", on.Instance.SelfLink)
}

// findUser returns the user with a name and a host. The host may be empty if only one user has the name.
func findUser(c *api.Call, eng engine.Engine, name, host string) (engine.User, error) {
	users, err := eng.Users(c.Request.Context())
	if err != nil {
		return engine.User{}, err
	}
	fits := func(u engine.User) bool { return u.Name == name && (host == "" || u.Host == host) }
	at := slices.IndexFunc(users, fits)
	if at < 0 {
		return engine.User{}, api.LegacyError(http.StatusNotFound, "userDoesNotExist", "The specified user does not exist.")
	}
	if slices.ContainsFunc(users[at+1:], fits) {
		return engine.User{}, api.LegacyInvalid("Invalid request: There is more than one user %s: name the host.", name)
	}
	return users[at], nil
}

// shownUser returns a user in the API's form, which contains no password.
func shownUser(on *instance, user engine.User) *sqladmin.User {
	return &sqladmin.User{
		Kind:     "sql#user",
		Name:     user.Name,
		Host:     user.Host,
		Instance: on.Instance.Name,
		Project:  on.Instance.Project,
		Etag:     api.Hash(user.Quoted()),
	}
}

func (s *service) getUser(c *api.Call) (any, error) {
	on, eng, unlock, err := s.engine(c)
	if err != nil {
		return nil, err
	}
	defer unlock()
	user, err := findUser(c, eng, c.Vars["user"], c.Request.URL.Query().Get("host"))
	if err != nil {
		return nil, err
	}
	return shownUser(on, user), nil
}

func (s *service) listUsers(c *api.Call) (any, error) {
	on, eng, unlock, err := s.engine(c)
	if err != nil {
		return nil, err
	}
	defer unlock()
	users, err := eng.Users(c.Request.Context())
	if err != nil {
		return nil, err
	}
	answer := &sqladmin.UsersListResponse{Kind: "sql#usersList"}
	for _, user := range users {
		answer.Items = append(answer.Items, shownUser(on, user))
	}
	return answer, nil
}

// updateUser sets the password of a user. A request without a password keeps the old one.
func (s *service) updateUser(c *api.Call) (any, error) {
	var wanted sqladmin.User
	if err := c.Decode(&wanted); err != nil {
		return nil, err
	}
	if err := checkUser(&wanted); err != nil {
		return nil, err
	}
	query := c.Request.URL.Query()
	on, eng, unlock, err := s.engine(c)
	if err != nil {
		return nil, err
	}
	defer unlock()
	name := query.Get("name")
	api.SetDefault(&name, wanted.Name)
	user, err := findUser(c, eng, name, query.Get("host"))
	if err != nil {
		return nil, err
	}
	// A user from an earlier version of the emulator has no owner. The first caller that changes the user becomes the owner.
	if _, err := s.claim(c, on, userKind, user.Name, http.StatusForbidden); err != nil {
		return nil, err
	}
	var password *engine.PasswordHash
	if wanted.Password != "" {
		hash := engine.HashPassword(wanted.Password)
		password = &hash
	}
	if err := eng.PutUser(c.Request.Context(), user, password); err != nil {
		return nil, engineRefusal("failed to update user "+user.Name, err)
	}
	if err := s.setGrants(c.Request.Context(), on, eng); err != nil {
		return nil, err
	}
	return s.doneInstanceOperation(c, on, "UPDATE_USER", on.Instance.SelfLink)
}

// deleteUser drops a user. The name keeps its owner while another user has the same name with another host.
func (s *service) deleteUser(c *api.Call) (any, error) {
	query := c.Request.URL.Query()
	on, eng, unlock, err := s.engine(c)
	if err != nil {
		return nil, err
	}
	defer unlock()
	user, err := findUser(c, eng, query.Get("name"), query.Get("host"))
	if err != nil {
		return nil, err
	}
	if err := s.requireOwner(c, on, userKind, user.Name); err != nil {
		return nil, err
	}
	if err := eng.DropUser(c.Request.Context(), user); err != nil {
		return nil, engineRefusal("failed to delete user "+user.Name, err)
	}
	if err := s.releaseUser(c.Request.Context(), on, eng, user.Name); err != nil {
		return nil, err
	}
	return s.doneInstanceOperation(c, on, "DELETE_USER", on.Instance.SelfLink)
}

// releaseUser removes the owner of a user name if no user of that name remains.
func (s *service) releaseUser(ctx context.Context, on *instance, eng engine.Engine, name string) error {
	left, err := eng.Users(ctx)
	if err != nil || slices.ContainsFunc(left, func(u engine.User) bool { return engine.Folded(u.Name) == engine.Folded(name) }) {
		return err
	}
	return s.release(on, userKind, name)
}
