package gcloud

import (
	"net/http"
	"slices"

	"google.golang.org/api/sqladmin/v1beta4"
)

// rootUser is the user that every instance has.
const rootUser = "root"

func (s *Server) insertUser(c *call) (any, error) {
	var wanted sqladmin.User
	if err := c.decode(&wanted); err != nil {
		return nil, err
	}
	if wanted.Type != "" && wanted.Type != "BUILT_IN" {
		return nil, invalidSQL("Invalid request: users of the type %s are not emulated: use BUILT_IN.", wanted.Type)
	}
	user := mysqlUser{name: wanted.Name, host: wanted.Host}
	setDefault(&user.host, anyHost)
	if user.name == "" || len(user.name) > 32 {
		return nil, invalidSQL("Invalid request: The user name must have 1 to 32 characters.")
	}
	instance, server, err := s.server(c)
	if err != nil {
		return nil, err
	}
	defer server.Unlock()
	if ownHost(server, user.host) {
		return nil, invalidSQL("Invalid request: The users of the host %s belong to the server.", user.host)
	}
	if err := putUser(c.ctx, server, user, &wanted.Password); err != nil {
		return nil, mysqlRefusal("failed to create user "+user.name, err)
	}
	return s.doneInstanceOperation(c, instance, "CREATE_USER", instance.SelfLink)
}

// findUser returns the user that a request names by name and host; the host may be left out where only one fits.
func findUser(c *call, server *sqlServer, name, host string) (mysqlUser, error) {
	users, err := usersOf(c.ctx, server)
	if err != nil {
		return mysqlUser{}, err
	}
	at := slices.IndexFunc(users, func(u mysqlUser) bool { return u.name == name && (host == "" || u.host == host) })
	if at < 0 {
		return mysqlUser{}, sqlError(http.StatusNotFound, "userDoesNotExist", "The specified user does not exist.")
	}
	return users[at], nil
}

func shownUser(instance *sqladmin.DatabaseInstance, user mysqlUser) *sqladmin.User {
	return &sqladmin.User{
		Kind:     "sql#user",
		Name:     user.name,
		Host:     user.host,
		Instance: instance.Name,
		Project:  instance.Project,
		Etag:     hashToken(user.String()),
	}
}

func (s *Server) getUser(c *call) (any, error) {
	instance, server, err := s.server(c)
	if err != nil {
		return nil, err
	}
	defer server.Unlock()
	user, err := findUser(c, server, c.vars["user"], c.request.URL.Query().Get("host"))
	if err != nil {
		return nil, err
	}
	return shownUser(instance, user), nil
}

func (s *Server) listUsers(c *call) (any, error) {
	instance, server, err := s.server(c)
	if err != nil {
		return nil, err
	}
	defer server.Unlock()
	users, err := usersOf(c.ctx, server)
	if err != nil {
		return nil, err
	}
	answer := &sqladmin.UsersListResponse{Kind: "sql#usersList"}
	for _, user := range users {
		answer.Items = append(answer.Items, shownUser(instance, user))
	}
	return answer, nil
}

func (s *Server) updateUser(c *call) (any, error) {
	var wanted sqladmin.User
	if err := c.decode(&wanted); err != nil {
		return nil, err
	}
	query := c.request.URL.Query()
	instance, server, err := s.server(c)
	if err != nil {
		return nil, err
	}
	defer server.Unlock()
	user, err := findUser(c, server, query.Get("name"), query.Get("host"))
	if err != nil && query.Get("name") == rootUser {
		// Every instance of Cloud SQL has this user; here it is made when it gets a password.
		user, err = mysqlUser{name: rootUser, host: anyHost}, nil
	}
	if err != nil {
		return nil, err
	}
	var password *string
	if wanted.Password != "" {
		password = &wanted.Password
	}
	if err := putUser(c.ctx, server, user, password); err != nil {
		return nil, mysqlRefusal("failed to update user "+user.name, err)
	}
	return s.doneInstanceOperation(c, instance, "UPDATE_USER", instance.SelfLink)
}

func (s *Server) deleteUser(c *call) (any, error) {
	query := c.request.URL.Query()
	instance, server, err := s.server(c)
	if err != nil {
		return nil, err
	}
	defer server.Unlock()
	user, err := findUser(c, server, query.Get("name"), query.Get("host"))
	if err != nil {
		return nil, err
	}
	if err := dropUser(c.ctx, server, user); err != nil {
		return nil, mysqlRefusal("failed to delete user "+user.name, err)
	}
	return s.doneInstanceOperation(c, instance, "DELETE_USER", instance.SelfLink)
}
