package core

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"go.etcd.io/bbolt"
	crm "google.golang.org/api/cloudresourcemanager/v1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authz"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

var (
	projectIDs = regexp.MustCompile(`^[a-z][a-z0-9-]{4,28}[a-z0-9]$`)
	emails     = regexp.MustCompile(`^[^@\s/]+@[^@\s/]+$`)
)

// EnsureProject creates a project with the user of the e-mail address owner as its owner. It returns a new login of the user: a
// credentials file, of type authorized_user, that is valid for [authn.LoginLifetime].
func (c *Core) EnsureProject(id, owner string) ([]byte, error) {
	if !projectIDs.MatchString(id) {
		return nil, fmt.Errorf("make project %q: not a project id: use 6 to 30 lower-case letters, digits and hyphens, a letter first", id)
	}
	if !emails.MatchString(owner) {
		return nil, fmt.Errorf("make project %q: owner %q is not an e-mail address", id, owner)
	}
	var credentials []byte
	err := c.Store.Update(func(tx *bbolt.Tx) error {
		if err := c.ensureProject(tx, id, "user:"+owner); err != nil {
			return err
		}
		var err error
		credentials, err = c.NewLogin(tx, owner, id)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("make project %q: %w", id, err)
	}
	return credentials, nil
}

// Login returns a new login of a user, as [Core.EnsureProject] does.
func (c *Core) Login(project, email string) (credentials []byte, err error) {
	err = c.Store.Update(func(tx *bbolt.Tx) error {
		credentials, err = c.NewLogin(tx, email, project)
		return err
	})
	return credentials, err
}

// ensureProject creates the project if it is missing, and adds the member to its owners. It keeps all other bindings, because the
// programs of the layers have added theirs since the first call.
func (c *Core) ensureProject(tx *bbolt.Tx, id, member string) error {
	known, err := api.FindProject(tx, id)
	if err != nil {
		return err
	}
	if known == nil {
		number, err := strconv.ParseInt(api.RandomDigits(12), 10, 64)
		if err != nil {
			return err
		}
		known = &api.Project{ID: id, Number: number, Created: c.Now().UTC()}
		if err := store.Put(tx, api.Projects, id, known); err != nil {
			return err
		}
	}
	policy, err := authz.ReadPolicy(tx, authz.ProjectPolicy(id))
	if err != nil {
		return err
	}
	const owner = "roles/owner"
	at := slices.IndexFunc(policy.Bindings, func(b *crm.Binding) bool { return b.Role == owner && b.Condition == nil })
	switch {
	case at < 0:
		policy.Bindings = append(policy.Bindings, &crm.Binding{Role: owner, Members: []string{member}})
	case slices.Contains(policy.Bindings[at].Members, member):
		return nil
	default:
		policy.Bindings[at].Members = append(policy.Bindings[at].Members, member)
	}
	return authz.WritePolicy(tx, authz.ProjectPolicy(id), policy)
}
