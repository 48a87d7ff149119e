package gcp

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/serviceaccount"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
)

// accountIDPattern matches the first part of a service account's e-mail address, as the API accepts it.
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

func (g *plugin) account() frame.Resource {
	return frame.Resource{
		Args:  serviceaccount.AccountArgs{},
		State: serviceaccount.Account{},
		Rules: frame.Rules{
			"accountId":   {Replace: true, Check: matching(accountIDPattern, "6 to 30 lower case letters, digits and dashes, a letter first and no dash last")},
			"description": {Check: atMost(256)},
			"disabled":    {Default: false},
			"project":     fromProvider(),
		},
		Identity: []string{"accountId", "project"},
		Operations: frame.Handle(frame.CRUD[accountArgs, accountState]{
			Create: g.createAccount,
			Read: func(ctx context.Context, r accountRequest) (string, accountState, error) {
				parts, err := parseID(r.ID, accountIDPatterns)
				if err != nil {
					return "", accountState{}, err
				}
				project, err := g.project(parts["project"])
				if err != nil {
					return "", accountState{}, err
				}
				return g.readAccount(ctx, fmt.Sprintf("projects/%s/serviceAccounts/%s", project, parts["email"]))
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
			return accountState{}, explained(err)
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
