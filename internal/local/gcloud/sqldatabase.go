package gcloud

import (
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/go-sql-driver/mysql"
	"google.golang.org/api/sqladmin/v1beta4"
)

var (
	databaseNames = regexp.MustCompile(`^[^/\\.\x00-\x1f]{1,64}$`)
	charsets      = regexp.MustCompile(`^[a-zA-Z0-9_]*$`)
)

// server returns the instance that the path names and its running server, locked: the caller unlocks it.
func (s *Server) server(c *call) (*sqladmin.DatabaseInstance, *sqlServer, error) {
	instance, err := s.instance(c)
	if err != nil {
		return nil, nil, err
	}
	server := s.sql.get(instanceKey(instance.Project, instance.Name))
	if instance.State != "RUNNABLE" || server == nil {
		if instance.State == "PENDING_CREATE" || instance.State == "PENDING_DELETE" {
			return nil, nil, operationInProgress()
		}
		return nil, nil, invalidSQL("Invalid request: Invalid request since instance is not running.")
	}
	server.Lock()
	return instance, server, nil
}

func (s *Server) insertDatabase(c *call) (any, error) {
	var wanted sqladmin.Database
	if err := c.decode(&wanted); err != nil {
		return nil, err
	}
	db := mysqlDatabase{name: wanted.Name, charset: wanted.Charset, collation: wanted.Collation}
	if err := checkDatabase(db); err != nil {
		return nil, err
	}
	if db.charset == "" && db.collation == "" {
		db.charset, db.collation = "utf8mb4", "utf8mb4_0900_ai_ci"
	}
	instance, server, err := s.server(c)
	if err != nil {
		return nil, err
	}
	defer server.Unlock()
	if err := createDatabase(c.ctx, server, db); err != nil {
		return nil, mysqlRefusal("failed to create database "+db.name, err)
	}
	return s.doneInstanceOperation(c, instance, "CREATE_DATABASE", instance.SelfLink+"/databases/"+db.name)
}

func checkDatabase(db mysqlDatabase) error {
	if !databaseNames.MatchString(db.name) || strings.Contains(systemDatabases, quoteText(strings.ToLower(db.name))) {
		return invalidSQL("Invalid request: Incorrect database name '%s'.", db.name)
	}
	if !charsets.MatchString(db.charset) || !charsets.MatchString(db.collation) {
		return invalidSQL("Invalid request: Unknown character set or collation.")
	}
	return nil
}

// mysqlRefusal passes on what the server refused, as the API does. What is not the server's refusal is an error of ours.
func mysqlRefusal(what string, err error) error {
	if refused, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return invalidSQL("Invalid request: %s. Detail: %v", what, refused)
	}
	return err
}

// database returns the database that the path names, as the API shows it.
func (s *Server) database(c *call, instance *sqladmin.DatabaseInstance, server *sqlServer) (*sqladmin.Database, error) {
	found, err := databasesOf(c.ctx, server, c.vars["database"])
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, newError(http.StatusNotFound, "NOT_FOUND", "notFound", "Not Found")
	}
	return shownDatabase(instance, found[0]), nil
}

func shownDatabase(instance *sqladmin.DatabaseInstance, db mysqlDatabase) *sqladmin.Database {
	return &sqladmin.Database{
		Kind: "sql#database",
		Name: db.name,
		// The server calls utf8 by its newer name; the API keeps the older one.
		Charset:   strings.Replace(db.charset, "utf8mb3", "utf8", 1),
		Collation: strings.Replace(db.collation, "utf8mb3", "utf8", 1),
		Instance:  instance.Name,
		Project:   instance.Project,
		SelfLink:  instance.SelfLink + "/databases/" + db.name,
		Etag:      hashToken(db.name + db.charset + db.collation),
	}
}

func (s *Server) getDatabase(c *call) (any, error) {
	instance, server, err := s.server(c)
	if err != nil {
		return nil, err
	}
	defer server.Unlock()
	return s.database(c, instance, server)
}

func (s *Server) listDatabases(c *call) (any, error) {
	instance, server, err := s.server(c)
	if err != nil {
		return nil, err
	}
	defer server.Unlock()
	found, err := databasesOf(c.ctx, server, "")
	if err != nil {
		return nil, err
	}
	answer := &sqladmin.DatabasesListResponse{Kind: "sql#databasesList"}
	for _, db := range found {
		answer.Items = append(answer.Items, shownDatabase(instance, db))
	}
	return answer, nil
}

func (s *Server) updateDatabase(c *call) (any, error) {
	var wanted sqladmin.Database
	if err := c.decode(&wanted); err != nil {
		return nil, err
	}
	db := mysqlDatabase{name: c.vars["database"], charset: wanted.Charset, collation: wanted.Collation}
	if err := checkDatabase(db); err != nil {
		return nil, err
	}
	instance, server, err := s.server(c)
	if err != nil {
		return nil, err
	}
	defer server.Unlock()
	if _, err := s.database(c, instance, server); err != nil {
		return nil, err
	}
	if db.charset != "" || db.collation != "" {
		if err := setDatabase(c.ctx, server, "ALTER", db); err != nil {
			return nil, mysqlRefusal("failed to update database "+db.name, err)
		}
	}
	return s.doneInstanceOperation(c, instance, "UPDATE_DATABASE", instance.SelfLink+"/databases/"+db.name)
}

func (s *Server) deleteDatabase(c *call) (any, error) {
	instance, server, err := s.server(c)
	if err != nil {
		return nil, err
	}
	defer server.Unlock()
	found, err := s.database(c, instance, server)
	if err != nil {
		return nil, err
	}
	if err := dropDatabase(c.ctx, server, found.Name); err != nil {
		return nil, mysqlRefusal("failed to delete database "+found.Name, err)
	}
	return s.doneInstanceOperation(c, instance, "DELETE_DATABASE", found.SelfLink)
}
