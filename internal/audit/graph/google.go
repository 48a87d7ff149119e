package graph

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/audit"
)

// Policies are the IAM policies of a project and of its service accounts.
type Policies struct {
	project string
	// Project and Accounts hold the bindings of the project, and of each service account by its e-mail address.
	Project  []Binding
	Accounts map[string][]Binding
	// Roles maps the roles of the bindings to their permissions.
	Roles map[string][]string
}

// Binding grants a role to members.
type Binding struct {
	Role    string   `json:"role"`
	Members []string `json:"members"`
}

// Fetch sends a request to a Google API and returns the answer's body.
type Fetch func(ctx context.Context, method, address string) ([]byte, error)

// GatherPolicies reads the policies with the engineer's identity.
func GatherPolicies(ctx context.Context, g *audit.Google, fetch Fetch) (*Policies, error) {
	p := &Policies{project: g.Project, Accounts: map[string][]Binding{}, Roles: map[string][]string{}}
	read := func(method, address string, into any) error {
		raw, err := fetch(ctx, method, address)
		if err != nil {
			return fmt.Errorf("read the IAM policies of project %s: %w", g.Project, err)
		}
		return json.Unmarshal(raw, into)
	}
	policy := func(address string) ([]Binding, error) {
		var found struct {
			Bindings []Binding `json:"bindings"`
		}
		return found.Bindings, read(http.MethodPost, address+":getIamPolicy", &found)
	}
	var err error
	if p.Project, err = policy(g.Endpoint("cloudresourcemanager/v1/") + "projects/" + g.Project); err != nil {
		return nil, err
	}
	own := g.Endpoint("iam/v1/") + "projects/" + g.Project + "/serviceAccounts"
	for page := "first"; page != ""; {
		var accounts struct {
			Accounts []struct {
				Email string `json:"email"`
			} `json:"accounts"`
			Next string `json:"nextPageToken"`
		}
		address := own + "?pageSize=100"
		if page != "first" {
			address += "&pageToken=" + url.QueryEscape(page)
		}
		if err := read(http.MethodGet, address, &accounts); err != nil {
			return nil, err
		}
		for _, account := range accounts.Accounts {
			if p.Accounts[account.Email], err = policy(own + "/" + account.Email); err != nil {
				return nil, err
			}
		}
		page = accounts.Next
	}
	for _, bindings := range slices.AppendSeq([][]Binding{p.Project}, maps.Values(p.Accounts)) {
		for _, binding := range bindings {
			if _, seen := p.Roles[binding.Role]; seen {
				continue
			}
			var role struct {
				Permissions []string `json:"includedPermissions"`
			}
			if err := read(http.MethodGet, g.Endpoint("iam/v1/")+binding.Role, &role); err != nil {
				return nil, err
			}
			p.Roles[binding.Role] = role.Permissions
		}
	}
	return p, nil
}

// become are the permissions that let their holder act as a service account.
var become = []string{
	"iam.serviceAccounts.getAccessToken", "iam.serviceAccounts.signBlob", "iam.serviceAccounts.signJwt", "iam.serviceAccounts.implicitDelegation",
	"iam.serviceAccountKeys.create", "iam.serviceAccounts.setIamPolicy", "iam.serviceAccounts.actAs",
}

// rule are the permissions that decide who has which permission.
var rule = []string{"resourcemanager.projects.setIamPolicy", "iam.roles.update"}

// edges returns the edges of a Google account, which a policy may also name as one of all users.
func (p *Policies) edges(account string) []edge {
	if p == nil {
		return nil
	}
	is := func(member string) bool {
		return member == "allUsers" || account != "allUsers" && (member == "allAuthenticatedUsers" || strings.HasSuffix(member, ":"+account) && !strings.Contains(member, "["))
	}
	return p.of(is)
}

// workload returns the edges of a Kubernetes account by Workload Identity.
func (p *Policies) workload(user string) []edge {
	parts := strings.Split(user, ":")
	if p == nil || len(parts) != serviceAccountParts {
		return nil
	}
	return p.of(func(member string) bool {
		return member == "serviceAccount:"+p.project+".svc.id.goog["+parts[2]+"/"+parts[3]+"]" ||
			strings.HasPrefix(member, "principal://") && strings.HasSuffix(member, "/subject/"+user) ||
			strings.HasPrefix(member, "principal://") && strings.HasSuffix(member, "/subject/ns/"+parts[2]+"/sa/"+parts[3])
	})
}

// of returns the edges of the members for which is returns true.
func (p *Policies) of(is func(member string) bool) []edge {
	var edges []edge
	for _, binding := range p.Project {
		if !slices.ContainsFunc(binding.Members, is) {
			continue
		}
		by := binding.Role + " on the project"
		for _, permission := range rule {
			if p.holds(binding.Role, permission) {
				edges = append(edges, edge{jewelPrefix + IAMPolicy, "has " + permission + " (" + by + ")"})
				break
			}
		}
		for account := range p.Accounts {
			edges = append(edges, p.becomes(binding.Role, account, by)...)
		}
	}
	for account, bindings := range p.Accounts {
		for _, binding := range bindings {
			if slices.ContainsFunc(binding.Members, is) {
				edges = append(edges, p.becomes(binding.Role, account, binding.Role+" on the account")...)
			}
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return strings.Compare(a.to+a.by, b.to+b.by) })
	return edges
}

func (p *Policies) becomes(role, account, by string) []edge {
	for _, permission := range become {
		if p.holds(role, permission) {
			return []edge{{googlePrefix + account, "has " + permission + " (" + by + ")"}}
		}
	}
	return nil
}

func (p *Policies) holds(role, permission string) bool {
	return slices.Contains(p.Roles[role], permission)
}
