package cloud

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"time"

	"go.etcd.io/bbolt"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	crmv3 "google.golang.org/api/cloudresourcemanager/v3"
)

// project is a project of the emulated cloud.
type project struct {
	ID      string    `json:"id"`
	Number  int64     `json:"number"`
	Created time.Time `json:"created"`
}

var (
	projectIDs = regexp.MustCompile(`^[a-z][a-z0-9-]{4,28}[a-z0-9]$`)
	emails     = regexp.MustCompile(`^[^@\s/]+@[^@\s/]+$`)
)

// EnsureProject creates a project with the user of the e-mail address owner as its owner. It returns the user's
// credentials file, of type authorized_user. A repeated call returns the same credentials.
func (s *Server) EnsureProject(id, owner string) ([]byte, error) {
	if !projectIDs.MatchString(id) {
		return nil, fmt.Errorf("make project %q: not a project id: use 6 to 30 lower-case letters, digits and hyphens, a letter first", id)
	}
	if !emails.MatchString(owner) {
		return nil, fmt.Errorf("make project %q: owner %q is not an e-mail address", id, owner)
	}
	member := "user:" + owner
	var credential *userCredential
	err := s.store.update(func(tx *bbolt.Tx) error {
		if err := s.ensureProject(tx, id, member); err != nil {
			return err
		}
		var err error
		if credential, err = findCredential(tx, member); err != nil || credential != nil {
			return err
		}
		credential = &userCredential{
			Member:       member,
			Email:        owner,
			ClientID:     randomDigits(12) + "-emulated.apps.googleusercontent.com",
			ClientSecret: randomText(18),
			RefreshToken: "1//emulated-" + randomText(48),
		}
		return put(tx, credentials, credential.ClientID, credential)
	})
	if err != nil {
		return nil, fmt.Errorf("make project %q: %w", id, err)
	}
	return json.MarshalIndent(map[string]string{
		"type":             "authorized_user",
		"client_id":        credential.ClientID,
		"client_secret":    credential.ClientSecret,
		"refresh_token":    credential.RefreshToken,
		"quota_project_id": id,
		"token_uri":        s.tokenURI(),
		"universe_domain":  "googleapis.com",
	}, "", "  ")
}

func (s *Server) ensureProject(tx *bbolt.Tx, id, member string) error {
	known, err := findProject(tx, id)
	if err != nil {
		return err
	}
	if known == nil {
		number, err := strconv.ParseInt(randomDigits(12), 10, 64)
		if err != nil {
			return err
		}
		known = &project{ID: id, Number: number, Created: s.now().UTC()}
		if err := put(tx, projects, id, known); err != nil {
			return err
		}
	}
	policy, err := readPolicy(tx, projectPolicy(id))
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
	return s.writePolicy(tx, projectPolicy(id), policy)
}

// randomDigits returns a random number of count digits. The first digit is not zero.
func randomDigits(count int) string {
	digits := make([]byte, count)
	for i := range digits {
		digits[i] = byte('0' + rand.IntN(10))
	}
	digits[0] = byte('1' + rand.IntN(9))
	return string(digits)
}

func projectPolicy(id string) string { return "projects/" + id }

// findProject returns the project with an ID or a number, or nil if there is none.
func findProject(tx *bbolt.Tx, idOrNumber string) (*project, error) {
	if idOrNumber == "" || idOrNumber == "-" {
		return nil, nil
	}
	if number, err := strconv.ParseInt(idOrNumber, 10, 64); err == nil {
		all, err := list[project](tx, projects, "")
		if err != nil {
			return nil, err
		}
		if at := slices.IndexFunc(all, func(p *project) bool { return p.Number == number }); at >= 0 {
			return all[at], nil
		}
		return nil, nil
	}
	return get[project](tx, projects, idOrNumber)
}

func (s *Server) resourceManagerService() *service {
	return &service{
		name:       "cloudresourcemanager.googleapis.com",
		title:      "Cloud Resource Manager API",
		prefix:     "cloudresourcemanager",
		scopes:     []string{"https://www.googleapis.com/auth/cloudplatformprojects"},
		readScopes: []string{"https://www.googleapis.com/auth/cloud-platform.read-only", "https://www.googleapis.com/auth/cloudplatformprojects.readonly"},
		denied: func(_ principal, permission string, on resource) *apiError {
			return permissionDenied("The caller does not have permission").withInfo("IAM_PERMISSION_DENIED",
				"cloudresourcemanager.googleapis.com", map[string]string{"permission": permission, "resource": on.name})
		},
		routes: []route{
			{method: "GET", pattern: "v1/projects/{project}", permission: "resourcemanager.projects.get", handle: getProject},
			{method: "GET", pattern: "v3/projects/{project}", permission: "resourcemanager.projects.get", handle: getProjectV3},
			{method: "POST", pattern: "v1|v3/projects/{project}:getIamPolicy", permission: "resourcemanager.projects.getIamPolicy", handle: s.getProjectPolicy},
			{method: "POST", pattern: "v1|v3/projects/{project}:setIamPolicy", permission: "resourcemanager.projects.setIamPolicy", handle: s.setProjectPolicy},
			// The call tells callers their own permissions, so it needs none.
			{method: "POST", pattern: "v1|v3/projects/{project}:testIamPermissions", handle: s.testProjectPermissions},
		},
	}
}

func (s *Server) getProjectPolicy(c *call) (any, error) {
	return s.getPolicy(c, projectPolicy(c.project.ID))
}

func (s *Server) setProjectPolicy(c *call) (any, error) {
	return s.setPolicy(c, projectPolicy(c.project.ID), checkProjectPolicy)
}

func (s *Server) testProjectPermissions(c *call) (any, error) {
	return s.testPermissions(c, onProject(c))
}

func getProject(c *call) (any, error) {
	return &crm.Project{
		ProjectId:      c.project.ID,
		ProjectNumber:  c.project.Number,
		Name:           c.project.ID,
		LifecycleState: "ACTIVE",
		CreateTime:     timestamp(c.project.Created),
	}, nil
}

func getProjectV3(c *call) (any, error) {
	return &crmv3.Project{
		Name:        "projects/" + strconv.FormatInt(c.project.Number, 10),
		ProjectId:   c.project.ID,
		DisplayName: c.project.ID,
		State:       "ACTIVE",
		CreateTime:  timestamp(c.project.Created),
		UpdateTime:  timestamp(c.project.Created),
	}, nil
}

// timestamp formats a time as Google's APIs do.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }
