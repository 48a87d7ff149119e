// Package serviceaccount contains service accounts, their keys, and the members of their IAM policies.
package serviceaccount

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/serviceaccount"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// provider is the configured provider, with the operations of this package as methods.
type provider struct{ *core.Provider }

// accountIDPattern matches valid IDs of service accounts. The ID is the first part of the e-mail address.
var accountIDPattern = regexp.MustCompile(`^[a-z](?:[-a-z0-9]{4,28}[a-z0-9])$`)

var accountIDPatterns = []*regexp.Regexp{
	regexp.MustCompile(`^projects/(?P<project>[^/]+)/serviceAccounts/(?P<email>[^/]+)$`),
	regexp.MustCompile(`^(?P<project>[^/]+)/(?P<email>[^/]+)$`),
	regexp.MustCompile(`^(?P<email>[^/]+)$`),
}

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

type accountRequest = frame.Request[accountArgs, accountState]

// Account returns the resource type of service accounts.
func Account(p *core.Provider) frame.Resource {
	g := provider{p}
	return frame.Resource{
		Args:  serviceaccount.AccountArgs{},
		State: serviceaccount.Account{},
		Rules: rules.ByPath{
			"accountId":   {Replace: true, Check: core.Matching(accountIDPattern, "6 to 30 lower case letters, digits and dashes, a letter first and no dash last")},
			"description": {Check: core.AtMost(256)},
			"disabled":    {Default: false},
			"project":     core.FromProvider(),
		},
		Identity: []string{"accountId", "project"},
		Operations: frame.Handle(frame.CRUD[accountArgs, accountState]{
			Create: g.createAccount,
			Read: func(ctx context.Context, r accountRequest) (string, accountState, error) {
				parts, err := core.ParseID(r.ID, accountIDPatterns)
				if err != nil {
					return "", accountState{}, err
				}
				project, err := g.Project(parts["project"])
				if err != nil {
					return "", accountState{}, err
				}
				return g.readAccount(ctx, fmt.Sprintf("projects/%s/serviceAccounts/%s", project, parts["email"]))
			},
			Update: g.updateAccount,
			Delete: func(ctx context.Context, r accountRequest) error {
				svc, err := g.IAM(ctx)
				if err != nil {
					return err
				}
				_, err = svc.Projects.ServiceAccounts.Delete(r.ID).Context(ctx).Do()
				return core.Explain(err)
			},
		}),
	}
}

// createAccount creates the account. With createIgnoreAlreadyExists, it adopts an existing one.
func (g provider) createAccount(ctx context.Context, r accountRequest) (string, accountState, error) {
	project, err := g.Project(r.Args.Project)
	if err != nil {
		return "", accountState{}, err
	}
	svc, err := g.IAM(ctx)
	if err != nil {
		return "", accountState{}, err
	}
	name := fmt.Sprintf("projects/%s/serviceAccounts/%s@%s.iam.gserviceaccount.com", project, r.Args.AccountID, project)
	created, err := svc.Projects.ServiceAccounts.Create("projects/"+project, &iam.CreateServiceAccountRequest{
		AccountId:      r.Args.AccountID,
		ServiceAccount: &iam.ServiceAccount{DisplayName: r.Args.DisplayName, Description: r.Args.Description},
	}).Context(ctx).Do()
	switch {
	case err == nil:
		name = created.Name
	case core.Status(err) != http.StatusConflict || !r.Args.CreateIgnoreAlreadyExists:
		return "", accountState{}, core.Explain(err)
	}
	if r.Args.Disabled {
		if err := setDisabled(ctx, svc, name, true); err != nil {
			return name, accountState{accountArgs: r.Args, Name: name}, err
		}
	}
	return g.readAccount(ctx, name)
}

// readAccount returns the ID, which is the full name, and the current state of an account.
func (g provider) readAccount(ctx context.Context, name string) (string, accountState, error) {
	svc, err := g.IAM(ctx)
	if err != nil {
		return "", accountState{}, err
	}
	sa, err := svc.Projects.ServiceAccounts.Get(name).Context(ctx).Do()
	if err != nil {
		return "", accountState{}, core.Explain(err)
	}
	id, _, _ := strings.Cut(sa.Email, "@")
	return sa.Name, accountState{
		accountArgs: accountArgs{
			AccountID: id, Description: sa.Description, Disabled: sa.Disabled, DisplayName: sa.DisplayName, Project: sa.ProjectId,
		},
		Email: sa.Email, Member: "serviceAccount:" + sa.Email, Name: sa.Name, UniqueID: sa.UniqueId,
	}, nil
}

// updateAccount changes an account: its state by a call of its own, the texts by a patch.
func (g provider) updateAccount(ctx context.Context, r accountRequest) (accountState, error) {
	svc, err := g.IAM(ctx)
	if err != nil {
		return accountState{}, err
	}
	if r.Args.Disabled != r.Old.Disabled {
		if err := setDisabled(ctx, svc, r.ID, r.Args.Disabled); err != nil {
			return accountState{}, err
		}
	}
	var mask []string
	if r.Args.Description != r.Old.Description {
		mask = append(mask, "description")
	}
	if r.Args.DisplayName != r.Old.DisplayName {
		mask = append(mask, "display_name")
	}
	if len(mask) > 0 {
		_, err := svc.Projects.ServiceAccounts.Patch(r.ID, &iam.PatchServiceAccountRequest{
			ServiceAccount: &iam.ServiceAccount{
				DisplayName: r.Args.DisplayName, Description: r.Args.Description,
				ForceSendFields: []string{"DisplayName", "Description"},
			},
			UpdateMask: strings.Join(mask, ","),
		}).Context(ctx).Do()
		if err != nil {
			return accountState{}, core.Explain(err)
		}
	}
	_, state, err := g.readAccount(ctx, r.ID)
	return state, err
}

// setDisabled disables or enables an account. The API has a method for each.
func setDisabled(ctx context.Context, svc *iam.Service, name string, disabled bool) error {
	var err error
	if disabled {
		_, err = svc.Projects.ServiceAccounts.Disable(name, &iam.DisableServiceAccountRequest{}).Context(ctx).Do()
	} else {
		_, err = svc.Projects.ServiceAccounts.Enable(name, &iam.EnableServiceAccountRequest{}).Context(ctx).Do()
	}
	return core.Explain(err)
}
