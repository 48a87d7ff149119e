package sql

import (
	"errors"
	"net/http"
	"strings"

	"github.com/go-sql-driver/mysql"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
)

func (s *service) insertDatabase(c *api.Call) (any, error) {
	var wanted sqladmin.Database
	if err := c.Decode(&wanted); err != nil {
		return nil, err
	}
	on, eng, unlock, err := s.engine(c)
	if err != nil {
		return nil, err
	}
	defer unlock()
	db := engine.Database{Name: wanted.Name, Charset: wanted.Charset, Collation: wanted.Collation}
	if err := engine.CheckDatabase(on.family(), db); err != nil {
		return nil, err
	}
	if db.Charset == "" && db.Collation == "" {
		db.Charset, db.Collation = on.family().Charset, on.family().Collation
	}
	// As for users, the claim precedes the change of the server, so that no database is ever without an owner.
	claimed, err := s.claim(c, on, databaseKind, db.Name, http.StatusConflict)
	if err != nil {
		return nil, err
	}
	if err := eng.CreateDatabase(c.Request.Context(), db); err != nil {
		err = engineRefusal("failed to create database "+db.Name, err)
		if claimed {
			err = errors.Join(err, s.release(on, databaseKind, db.Name))
		}
		return nil, err
	}
	if err := s.setGrants(c.Request.Context(), on, eng); err != nil {
		return nil, err
	}
	return s.doneInstanceOperation(c, on, "CREATE_DATABASE", databaseLink(on, db.Name))
}

func databaseLink(on *instance, name string) string {
	return on.Instance.SelfLink + "/databases/" + name
}

// engineRefusal converts an error that the server of the instance reports into an API error. It returns other errors
// unchanged, which become internal errors.
func engineRefusal(what string, err error) error {
	if refused, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return api.LegacyInvalid("Invalid request: %s. Detail: %v", what, refused)
	}
	return err
}

// database returns the database in the path, in the API's form.
func (s *service) database(c *api.Call, on *instance, eng engine.Engine) (*sqladmin.Database, error) {
	found, err := eng.Databases(c.Request.Context(), c.Vars["database"])
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, api.NewError(http.StatusNotFound, "NOT_FOUND", "notFound", "Not Found")
	}
	return shownDatabase(on, found[0]), nil
}

func shownDatabase(on *instance, db engine.Database) *sqladmin.Database {
	return &sqladmin.Database{
		Kind: "sql#database",
		Name: db.Name,
		// The server calls the character set utf8 by its newer name, utf8mb3. The API uses the older name.
		Charset:   strings.Replace(db.Charset, "utf8mb3", "utf8", 1),
		Collation: strings.Replace(db.Collation, "utf8mb3", "utf8", 1),
		Instance:  on.Instance.Name,
		Project:   on.Instance.Project,
		SelfLink:  databaseLink(on, db.Name),
		Etag:      api.Hash(db.Name + db.Charset + db.Collation),
	}
}

func (s *service) getDatabase(c *api.Call) (any, error) {
	on, eng, unlock, err := s.engine(c)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return s.database(c, on, eng)
}

func (s *service) listDatabases(c *api.Call) (any, error) {
	on, eng, unlock, err := s.engine(c)
	if err != nil {
		return nil, err
	}
	defer unlock()
	found, err := eng.Databases(c.Request.Context(), "")
	if err != nil {
		return nil, err
	}
	answer := &sqladmin.DatabasesListResponse{Kind: "sql#databasesList"}
	for _, db := range found {
		answer.Items = append(answer.Items, shownDatabase(on, db))
	}
	return answer, nil
}

func (s *service) updateDatabase(c *api.Call) (any, error) {
	var wanted sqladmin.Database
	if err := c.Decode(&wanted); err != nil {
		return nil, err
	}
	on, eng, unlock, err := s.engine(c)
	if err != nil {
		return nil, err
	}
	defer unlock()
	db := engine.Database{Name: c.Vars["database"], Charset: wanted.Charset, Collation: wanted.Collation}
	if err := engine.CheckDatabase(on.family(), db); err != nil {
		return nil, err
	}
	if _, err := s.database(c, on, eng); err != nil {
		return nil, err
	}
	// A database from an earlier version of the emulator has no owner. The first caller that changes it becomes the owner.
	if _, err := s.claim(c, on, databaseKind, db.Name, http.StatusForbidden); err != nil {
		return nil, err
	}
	if db.Charset != "" || db.Collation != "" {
		if err := eng.AlterDatabase(c.Request.Context(), db); err != nil {
			return nil, engineRefusal("failed to update database "+db.Name, err)
		}
	}
	return s.doneInstanceOperation(c, on, "UPDATE_DATABASE", databaseLink(on, db.Name))
}

func (s *service) deleteDatabase(c *api.Call) (any, error) {
	on, eng, unlock, err := s.engine(c)
	if err != nil {
		return nil, err
	}
	defer unlock()
	found, err := s.database(c, on, eng)
	if err != nil {
		return nil, err
	}
	if err := s.requireOwner(c, on, databaseKind, found.Name); err != nil {
		return nil, err
	}
	if err := eng.DropDatabase(c.Request.Context(), found.Name); err != nil {
		return nil, engineRefusal("failed to delete database "+found.Name, err)
	}
	// In MySQL, privileges on a database outlive the database. The next database of that name may have another owner.
	if err := s.setGrants(c.Request.Context(), on, eng); err != nil {
		return nil, err
	}
	if err := s.release(on, databaseKind, found.Name); err != nil {
		return nil, err
	}
	return s.doneInstanceOperation(c, on, "DELETE_DATABASE", found.SelfLink)
}
