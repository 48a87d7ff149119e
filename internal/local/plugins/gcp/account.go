package gcp

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/serviceaccount"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/plugins/provider"
)

// accountIDPattern is what the API accepts as the first part of a service account's email.
var accountIDPattern = regexp.MustCompile(`^[a-z](?:[-a-z0-9]{4,28}[a-z0-9])$`)

type accountArgs struct {
	AccountID                 string `json:"accountId"`
	CreateIgnoreAlreadyExists bool   `json:"createIgnoreAlreadyExists,omitempty"`
	Description               string `json:"description"`
	Disabled                  bool   `json:"disabled"`
	DisplayName               string `json:"displayName"`
	Project                   string `json:"project"`
}

type accountState struct {
	accountArgs
	Email    string `json:"email"`
	Member   string `json:"member"`
	Name     string `json:"name"`
	UniqueID string `json:"uniqueId"`
}

type accountRequest = provider.Request[accountArgs, accountState]

func (g *plugin) account() provider.Resource {
	return provider.Resource{
		Args:     serviceaccount.AccountArgs{},
		State:    serviceaccount.Account{},
		Replace:  []string{"accountId", "project"},
		Identity: []string{"accountId", "project"},
		Computed: []string{"project", "displayName", "description"},
		Defaults: map[string]property.Value{"disabled": property.New(false)},
		Operations: provider.Handle(provider.CRUD[accountArgs, accountState]{
			Check: func(args accountArgs) []provider.Failure {
				if args.AccountID == "" || accountIDPattern.MatchString(args.AccountID) {
					return nil
				}
				return []provider.Failure{{Path: "accountId", Reason: fmt.Sprintf(
					"accountId %q must be 6 to 30 lower case letters, digits and dashes, and start with a letter", args.AccountID)}}
			},
			Create: g.createAccount,
			Read: func(ctx context.Context, r accountRequest) (string, accountState, error) {
				name, err := g.accountName(r.ID, r.Args.Project)
				if err != nil {
					return "", accountState{}, err
				}
				return g.readAccount(ctx, name)
			},
			Update: g.updateAccount,
			Delete: func(ctx context.Context, r accountRequest) error {
				svc, err := g.clients.iam(ctx)
				if err != nil {
					return fmt.Errorf("make IAM client: %w", err)
				}
				_, err = svc.Projects.ServiceAccounts.Delete(r.ID).Context(ctx).Do()
				return explained(err)
			},
		}),
	}
}

func (g *plugin) createAccount(ctx context.Context, r accountRequest) (string, accountState, error) {
	project, err := g.project(r.Args.Project)
	if err != nil {
		return "", accountState{}, err
	}
	svc, err := g.clients.iam(ctx)
	if err != nil {
		return "", accountState{}, fmt.Errorf("make IAM client: %w", err)
	}
	name := fmt.Sprintf("projects/%s/serviceAccounts/%s@%s.iam.gserviceaccount.com", project, r.Args.AccountID, project)
	created, err := svc.Projects.ServiceAccounts.Create("projects/"+project, &iam.CreateServiceAccountRequest{
		AccountId:      r.Args.AccountID,
		ServiceAccount: &iam.ServiceAccount{DisplayName: r.Args.DisplayName, Description: r.Args.Description},
	}).Context(ctx).Do()
	switch {
	case err == nil:
		name = created.Name
	case statusOf(err) != http.StatusConflict || !r.Args.CreateIgnoreAlreadyExists:
		return "", accountState{}, explained(err)
	}
	if r.Args.Disabled {
		if err := setDisabled(ctx, svc, name, true); err != nil {
			return name, accountState{accountArgs: r.Args, Name: name}, err
		}
	}
	return g.readAccount(ctx, name)
}

func (g *plugin) readAccount(ctx context.Context, name string) (string, accountState, error) {
	svc, err := g.clients.iam(ctx)
	if err != nil {
		return "", accountState{}, fmt.Errorf("make IAM client: %w", err)
	}
	sa, err := svc.Projects.ServiceAccounts.Get(name).Context(ctx).Do()
	if err != nil {
		return "", accountState{}, explained(err)
	}
	id, _, _ := strings.Cut(sa.Email, "@")
	return sa.Name, accountState{
		accountArgs: accountArgs{
			AccountID: id, Description: sa.Description, Disabled: sa.Disabled, DisplayName: sa.DisplayName, Project: sa.ProjectId,
		},
		Email: sa.Email, Member: "serviceAccount:" + sa.Email, Name: sa.Name, UniqueID: sa.UniqueId,
	}, nil
}

func (g *plugin) updateAccount(ctx context.Context, r accountRequest) (accountState, error) {
	svc, err := g.clients.iam(ctx)
	if err != nil {
		return accountState{}, fmt.Errorf("make IAM client: %w", err)
	}
	if r.Args.DisplayName != r.Old.DisplayName || r.Args.Description != r.Old.Description {
		_, err := svc.Projects.ServiceAccounts.Patch(r.ID, &iam.PatchServiceAccountRequest{
			ServiceAccount: &iam.ServiceAccount{
				DisplayName: r.Args.DisplayName, Description: r.Args.Description,
				ForceSendFields: []string{"DisplayName", "Description"},
			},
			UpdateMask: "displayName,description",
		}).Context(ctx).Do()
		if err != nil {
			return accountState{}, explained(err)
		}
	}
	if r.Args.Disabled != r.Old.Disabled {
		if err := setDisabled(ctx, svc, r.ID, r.Args.Disabled); err != nil {
			return accountState{}, err
		}
	}
	_, state, err := g.readAccount(ctx, r.ID)
	return state, err
}

func setDisabled(ctx context.Context, svc *iam.Service, name string, disabled bool) error {
	var err error
	if disabled {
		_, err = svc.Projects.ServiceAccounts.Disable(name, &iam.DisableServiceAccountRequest{}).Context(ctx).Do()
	} else {
		_, err = svc.Projects.ServiceAccounts.Enable(name, &iam.EnableServiceAccountRequest{}).Context(ctx).Do()
	}
	return explained(err)
}

// accountName turns what the official provider accepts as a service account's ID into the account's full name.
func (g *plugin) accountName(id, project string) (string, error) {
	if strings.HasPrefix(id, "projects/") {
		return id, nil
	}
	if p, email, ok := strings.Cut(id, "/"); ok {
		return fmt.Sprintf("projects/%s/serviceAccounts/%s", p, email), nil
	}
	project, err := g.project(project)
	if err != nil {
		return "", err
	}
	if !strings.Contains(id, "@") {
		id = fmt.Sprintf("%s@%s.iam.gserviceaccount.com", id, project)
	}
	return fmt.Sprintf("projects/%s/serviceAccounts/%s", project, id), nil
}

type bindingArgs struct {
	Condition        *condition `json:"condition,omitempty"`
	Members          []string   `json:"members"`
	Role             string     `json:"role"`
	ServiceAccountID string     `json:"serviceAccountId"`
}

type bindingState struct {
	bindingArgs
	Etag string `json:"etag"`
}

type bindingRequest = provider.Request[bindingArgs, bindingState]

// accountBinding decides who has one role on a service account, and takes it from everybody else.
func (g *plugin) accountBinding() provider.Resource {
	return provider.Resource{
		Args:     serviceaccount.IAMBindingArgs{},
		State:    serviceaccount.IAMBinding{},
		Required: []string{"members"},
		Replace:  []string{"serviceAccountId", "role", "condition"},
		Identity: []string{"serviceAccountId", "role", "condition"},
		Operations: provider.Handle(provider.CRUD[bindingArgs, bindingState]{
			Create: g.setBinding,
			Read:   g.readBinding,
			Update: func(ctx context.Context, r bindingRequest) (bindingState, error) {
				_, state, err := g.setBinding(ctx, r)
				return state, err
			},
			Delete: func(ctx context.Context, r bindingRequest) error {
				r.Args = r.State.bindingArgs
				r.Args.Members = nil
				_, _, err := g.setBinding(ctx, r)
				return err
			},
		}),
	}
}

func (g *plugin) setBinding(ctx context.Context, r bindingRequest) (string, bindingState, error) {
	h, err := g.accountPolicy(ctx, r.Args.ServiceAccountID)
	if err != nil {
		return "", bindingState{}, err
	}
	cond := r.Args.Condition.expr()
	etag, err := h.edit(ctx, func(p *iam.Policy) bool {
		p.Bindings = slices.DeleteFunc(p.Bindings, func(b *iam.Binding) bool {
			return b.Role == r.Args.Role && sameCondition(b.Condition, cond)
		})
		if len(r.Args.Members) > 0 {
			p.Bindings = append(p.Bindings, &iam.Binding{Role: r.Args.Role, Members: r.Args.Members, Condition: cond})
		}
		return true
	})
	if err != nil {
		return "", bindingState{}, err
	}
	return memberID([]string{r.Args.ServiceAccountID, r.Args.Role}, r.Args.Condition), bindingState{r.Args, etag}, nil
}

func (g *plugin) readBinding(ctx context.Context, r bindingRequest) (string, bindingState, error) {
	args, title := r.Args, ""
	if r.Importing {
		parts, t, err := importID(r.ID, 2)
		if err != nil {
			return "", bindingState{}, err
		}
		args.ServiceAccountID, args.Role, title = parts[0], parts[1], t
	}
	h, err := g.accountPolicy(ctx, args.ServiceAccountID)
	if err != nil {
		return "", bindingState{}, err
	}
	if r.Importing {
		if args.Condition, err = h.titled(ctx, args.Role, "", title); err != nil {
			return "", bindingState{}, err
		}
	}
	policy, err := h.get(ctx)
	if err != nil {
		return "", bindingState{}, explained(err)
	}
	i := binding(policy, args.Role, args.Condition.expr())
	if i < 0 {
		return "", bindingState{}, provider.ErrNotFound
	}
	args.Members = sortedLike(policy.Bindings[i].Members, args.Members)
	return memberID([]string{args.ServiceAccountID, args.Role}, args.Condition), bindingState{args, policy.Etag}, nil
}

// sortedLike returns the elements of a set in the order in which they are known, so that another order is no change.
func sortedLike(set, known []string) []string {
	sorted := slices.Clone(set)
	slices.SortStableFunc(sorted, func(a, b string) int {
		i, j := slices.Index(known, a), slices.Index(known, b)
		if i < 0 {
			i = len(known)
		}
		if j < 0 {
			j = len(known)
		}
		return i - j
	})
	return sorted
}
