package cloud

import (
	"context"
	"errors"
	"net/http"
	"slices"

	sqladmin "google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// checkUser refuses users of a type that is not emulated, and limits that the engine would ignore.
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

func (s *sqlService) insertUser(c *api.Call) (any, error) {
	var wanted sqladmin.User
	if err := c.Decode(&wanted); err != nil {
		return nil, err
	}
	if err := checkUser(&wanted); err != nil {
		return nil, err
	}
	on, engine, unlock, err := s.engine(c)
	if err != nil {
		return nil, err
	}
	defer unlock()
	family := on.family()
	user := sqlUser{Name: wanted.Name, Host: wanted.Host}
	api.SetDefault(&user.Host, family.anyHost)
	if err := checkUserName(family, user); err != nil {
		return nil, err
	}
	if engine.owns(user) {
		return nil, api.LegacyInvalid("Invalid request: The users of the host %s belong to the server.", user.Host)
	}
	claimed, err := s.claim(c, on, userKind, user.Name, http.StatusConflict)
	if err != nil {
		return nil, err
	}
	hash := hashPassword(wanted.Password)
	if err := engine.putUser(c.Request.Context(), user, &hash); err != nil {
		err = engineRefusal("failed to create user "+user.Name, err)
		if claimed {
			err = errors.Join(err, s.releaseUser(c.Request.Context(), on, engine, user.Name))
		}
		return nil, err
	}
	if err := s.settle(c.Request.Context(), on, engine); err != nil {
		return nil, err
	}
	return s.doneInstanceOperation(c, on, "CREATE_USER", on.Instance.SelfLink)
}

// findUser returns the user with a name and a host. The host may be empty if only one user has the name.
func findUser(c *api.Call, engine sqlEngine, name, host string) (sqlUser, error) {
	users, err := engine.users(c.Request.Context())
	if err != nil {
		return sqlUser{}, err
	}
	fits := func(u sqlUser) bool { return u.Name == name && (host == "" || u.Host == host) }
	at := slices.IndexFunc(users, fits)
	if at < 0 {
		return sqlUser{}, api.LegacyError(http.StatusNotFound, "userDoesNotExist", "The specified user does not exist.")
	}
	if slices.ContainsFunc(users[at+1:], fits) {
		return sqlUser{}, api.LegacyInvalid("Invalid request: There is more than one user %s: name the host.", name)
	}
	return users[at], nil
}

func shownUser(on *instance, user sqlUser) *sqladmin.User {
	return &sqladmin.User{
		Kind:     "sql#user",
		Name:     user.Name,
		Host:     user.Host,
		Instance: on.Instance.Name,
		Project:  on.Instance.Project,
		Etag:     api.Hash(user.quoted()),
	}
}

func (s *sqlService) getUser(c *api.Call) (any, error) {
	on, engine, unlock, err := s.engine(c)
	if err != nil {
		return nil, err
	}
	defer unlock()
	user, err := findUser(c, engine, c.Vars["user"], c.Request.URL.Query().Get("host"))
	if err != nil {
		return nil, err
	}
	return shownUser(on, user), nil
}

func (s *sqlService) listUsers(c *api.Call) (any, error) {
	on, engine, unlock, err := s.engine(c)
	if err != nil {
		return nil, err
	}
	defer unlock()
	users, err := engine.users(c.Request.Context())
	if err != nil {
		return nil, err
	}
	answer := &sqladmin.UsersListResponse{Kind: "sql#usersList"}
	for _, user := range users {
		answer.Items = append(answer.Items, shownUser(on, user))
	}
	return answer, nil
}

func (s *sqlService) updateUser(c *api.Call) (any, error) {
	var wanted sqladmin.User
	if err := c.Decode(&wanted); err != nil {
		return nil, err
	}
	if err := checkUser(&wanted); err != nil {
		return nil, err
	}
	query := c.Request.URL.Query()
	on, engine, unlock, err := s.engine(c)
	if err != nil {
		return nil, err
	}
	defer unlock()
	name := query.Get("name")
	api.SetDefault(&name, wanted.Name)
	user, err := findUser(c, engine, name, query.Get("host"))
	if err != nil {
		return nil, err
	}
	if _, err := s.claim(c, on, userKind, user.Name, http.StatusForbidden); err != nil {
		return nil, err
	}
	var password *passwordHash
	if wanted.Password != "" {
		hash := hashPassword(wanted.Password)
		password = &hash
	}
	if err := engine.putUser(c.Request.Context(), user, password); err != nil {
		return nil, engineRefusal("failed to update user "+user.Name, err)
	}
	if err := s.settle(c.Request.Context(), on, engine); err != nil {
		return nil, err
	}
	return s.doneInstanceOperation(c, on, "UPDATE_USER", on.Instance.SelfLink)
}

func (s *sqlService) deleteUser(c *api.Call) (any, error) {
	query := c.Request.URL.Query()
	on, engine, unlock, err := s.engine(c)
	if err != nil {
		return nil, err
	}
	defer unlock()
	user, err := findUser(c, engine, query.Get("name"), query.Get("host"))
	if err != nil {
		return nil, err
	}
	if err := s.allow(c, on, userKind, user.Name); err != nil {
		return nil, err
	}
	if err := engine.dropUser(c.Request.Context(), user); err != nil {
		return nil, engineRefusal("failed to delete user "+user.Name, err)
	}
	if err := s.releaseUser(c.Request.Context(), on, engine, user.Name); err != nil {
		return nil, err
	}
	return s.doneInstanceOperation(c, on, "DELETE_USER", on.Instance.SelfLink)
}

// releaseUser removes the owner of a user name if no user of that name is left.
func (s *sqlService) releaseUser(ctx context.Context, on *instance, engine sqlEngine, name string) error {
	left, err := engine.users(ctx)
	if err != nil || slices.ContainsFunc(left, func(u sqlUser) bool { return folded(u.Name) == folded(name) }) {
		return err
	}
	return s.release(on, userKind, name)
}
