package sql

import (
	"context"
	"net/http"
	"slices"

	"go.etcd.io/bbolt"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
	"github.com/strata-platform/strata/internal/local/cloud/sql/settings"
)

// instance is the record of a Cloud SQL instance.
type instance struct {
	Instance *sqladmin.DatabaseInstance `json:"instance"`
	// Busy is the name of the operation in progress, or "".
	Busy string `json:"busy,omitempty"`
	// Root is the hash of the root password of an instance whose creation is in progress.
	Root engine.PasswordHash `json:"root,omitempty"`
	// Unserved holds the databases and users of an instance that the emulator does not run. It is nil if the instance
	// has a server. Its JSON name is that of the first version of the emulator.
	Unserved *engine.Unserved `json:"paper,omitempty"`
}

func instanceKey(project, name string) string { return project + "/" + name }

func (i *instance) key() string { return instanceKey(i.Instance.Project, i.Instance.Name) }

// runs reports whether the activation policy lets the instance's server run.
func (i *instance) runs() bool { return i.Instance.Settings.ActivationPolicy != "NEVER" }

func (i *instance) family() engine.Family {
	family, _ := engine.FamilyOf(i.Instance.DatabaseVersion)
	return family
}

// requireInstance returns an instance, or an API error if the instance does not exist.
func requireInstance(tx *bbolt.Tx, key string) (*instance, error) {
	found, err := store.Get[instance](tx, instances, key)
	if err == nil && found == nil {
		return nil, noInstance()
	}
	return found, err
}

// idle returns an error if another operation on the instance is in progress.
func (i *instance) idle() error {
	if i.Busy != "" {
		return operationInProgress()
	}
	return nil
}

func operationInProgress() *api.Error {
	return api.LegacyError(http.StatusConflict, "operationInProgress",
		"Operation failed because another operation was already in progress. Try your request after the current operation is complete.")
}

// insertInstance stores a new instance and its operation in one transaction, and starts the server in the background: after a
// kill, the next start of the emulator resumes the operation.
func (s *service) insertInstance(c *api.Call) (any, error) {
	wanted := &sqladmin.DatabaseInstance{}
	if err := c.Decode(wanted); err != nil {
		return nil, err
	}
	api.SetDefault(&wanted.DatabaseVersion, "MYSQL_8_0")
	if err := settings.CheckNew(wanted); err != nil {
		return nil, err
	}
	made := &instance{Instance: wanted}
	family := made.family()
	if family.Served && s.databases == nil {
		return nil, api.LegacyInvalid("Invalid request: this emulator was started without a database runtime.")
	}
	// Every process on this machine could log in as a root user without a password. On Cloud SQL, a new root user is
	// out of reach at first.
	secret := wanted.RootPassword
	api.SetDefault(&secret, api.RandomText(24))
	made.Root, wanted.RootPassword = engine.HashPassword(secret), ""
	if !family.Served {
		made.Root, made.Unserved = "", engine.NewUnserved(family)
	}
	s.fillInstance(c, made)
	var op *sqladmin.Operation
	err := s.Store.Update(func(tx *bbolt.Tx) error {
		existing, err := store.Get[instance](tx, instances, made.key())
		if err != nil {
			return err
		}
		if existing != nil {
			return api.LegacyError(http.StatusConflict, "instanceAlreadyExists", "The Cloud SQL instance already exists. "+
				"When you delete an instance, you can't reuse the name of the deleted instance until one week from the deletion date.")
		}
		op, err = s.beginInstanceOperation(tx, c, made, "CREATE")
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.inBackground(op), nil
}

// inBackground starts the work of an operation and returns a copy of the operation from before the work.
func (s *service) inBackground(op *sqladmin.Operation) *sqladmin.Operation {
	answer := *op
	s.Background(func(ctx context.Context) { _ = s.runInstanceOperation(ctx, op) })
	return &answer
}

// instance returns the instance that the path names.
func (s *service) instance(c *api.Call) (found *instance, err error) {
	err = s.Store.View(func(tx *bbolt.Tx) error {
		found, err = requireInstance(tx, instanceKey(c.ProjectID(), c.Vars["instance"]))
		return err
	})
	return found, err
}

func (s *service) getInstance(c *api.Call) (any, error) {
	found, err := s.instance(c)
	if err != nil {
		return nil, err
	}
	return found.Instance, nil
}

func (s *service) listInstances(c *api.Call) (any, error) {
	if c.Request.URL.Query().Get("filter") != "" {
		return nil, api.LegacyInvalid("Invalid request: the parameter filter is not emulated.")
	}
	answer := &sqladmin.InstancesListResponse{Kind: "sql#instancesList"}
	var all []*sqladmin.DatabaseInstance
	err := s.Store.View(func(tx *bbolt.Tx) error {
		return store.Each(tx, instances, c.Project.ID+"/", func(_ string, found *instance) error {
			all = append(all, found.Instance)
			if warning := found.family().Warning(found.Instance.DatabaseVersion); warning != nil {
				answer.Warnings = append(answer.Warnings, warning)
			}
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	answer.Items, answer.NextPageToken, err = page(c, all, func(i *sqladmin.DatabaseInstance) string { return i.Name })
	return answer, err
}

// page returns the page of a list that a call asks for, and the token of the next page, which is the name of the
// page's last item.
func page[T any](c *api.Call, all []T, name func(T) string) ([]T, string, error) {
	query := c.Request.URL.Query()
	if token := query.Get("pageToken"); token != "" {
		at := slices.IndexFunc(all, func(item T) bool { return name(item) == token })
		if at < 0 {
			return nil, "", api.LegacyInvalid("Invalid request: Invalid page token.")
		}
		all = all[at+1:]
	}
	size, err := api.PageSize(query.Get("maxResults"))
	if err != nil || len(all) <= size {
		return all, "", err
	}
	return all[:size], name(all[size-1]), nil
}

// deleteInstance starts the operation that stops the server and erases its data, unless the instance is protected.
func (s *service) deleteInstance(c *api.Call) (any, error) {
	return s.startOn(c, "DELETE", func(found *instance) error {
		if found.Instance.Settings.DeletionProtectionEnabled {
			return api.LegacyInvalid("The instance is protected. Please disable the deletion protection and try again. " +
				"To disable deletion protection, update the instance settings with deletionProtectionEnabled set to false.")
		}
		found.Instance.State = "PENDING_DELETE"
		return nil
	})
}

// restartInstance starts the operation that stops and starts the server.
func (s *service) restartInstance(c *api.Call) (any, error) {
	return s.startOn(c, "RESTART", func(found *instance) error {
		if found.Instance.State != "RUNNABLE" || !found.runs() {
			return api.LegacyInvalid("Invalid request: Invalid request since instance is not running.")
		}
		return nil
	})
}

// startOn starts an operation on the instance that the path names. prepare may refuse the operation or change the
// instance first.
func (s *service) startOn(c *api.Call, kind string, prepare func(*instance) error) (any, error) {
	var op *sqladmin.Operation
	err := s.Store.Update(func(tx *bbolt.Tx) error {
		found, err := requireInstance(tx, instanceKey(c.Project.ID, c.Vars["instance"]))
		if err != nil {
			return err
		}
		if err := found.idle(); err != nil {
			return err
		}
		if err := prepare(found); err != nil {
			return err
		}
		op, err = s.beginInstanceOperation(tx, c, found, kind)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.inBackground(op), nil
}
