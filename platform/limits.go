package platform

import (
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	rbac "k8s.io/api/rbac/v1"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/platform/origins"
	"github.com/strata-platform/strata/teams"
)

// limits returns the part of a team's hop that limits the team. It depends on files only: teams.yaml, the configuration and
// the catalogue.
func limits(config Config, team teams.Team, offers offers) *hop.HopArgs {
	args := &hop.HopArgs{
		Namespace: team.Namespace(),
		Account:   team.ServiceAccount(),
		Roles:     teamRoles(team.May),
		Source:    hop.Source{URL: pulumi.String(config.teamURL(team.Name)), Verify: origins.Verification(team)},
		Policy: &hop.Policy{
			Types:         team.Allow,
			StackAccounts: team.StackAccounts(),
			Sources:       pulumi.ToStringArray(team.Sources),
			RunTimeout:    team.RunLimit(),
			Approval:      team.Approval.When,
			AnyNames:      team.Offer != "",
			Contact:       pulumi.String(config.Contact),
		},
	}
	if config.upstreamOperator() {
		workspace := config.workspace()
		args.Policy.Workspace = &workspace
	}
	for _, account := range team.Accounts {
		args.Accounts = append(args.Accounts, hop.Account{Name: account.Name, Roles: teamRoles(account.May), Path: account.Path})
	}
	offers.allowOrders(team, args)
	return args
}

// Limits are the limits of a team as far as they are known without a cluster.
type Limits struct {
	// Namespace is the team's namespace.
	Namespace string
	// Policy is the spec of the team's TenantPolicy, as plain JSON values. The URL of its backend is empty.
	Policy map[string]any
	// Accounts are the accounts that Flux applies folders of the team's repository under, the team's own first.
	Accounts []AccountLimits
	// Entries are the entries of the catalogue that the team may order.
	Entries []*catalogue.Entry
}

// AccountLimits are the limits of an account of a team.
type AccountLimits struct {
	// Name is the account, and Path the folder of the repository that Flux applies under it.
	Name, Path string
	// Rules are the account's permissions in the team's namespace.
	Rules []rbac.PolicyRule
}

// TeamLimits returns the limits that this layer gives a team. offered are the offers of teams.yaml, and folder is the
// folder with the platform's own entries of the catalogue; a missing folder has none. Of the configuration it reads
// Contact, TeamURL, Operator and the settings of workspaces.
func TeamLimits(config Config, team teams.Team, offered []teams.Offer, folder string) (Limits, error) {
	offers, err := loadOffers(offered, folder, false, true)
	if err != nil {
		return Limits{}, err
	}
	args := limits(config, team, offers)
	args.Context.BackendURL = pulumi.String("")
	encoded, err := json.Marshal(args.PolicySpec())
	if err != nil {
		return Limits{}, fmt.Errorf("encode the TenantPolicy of team %s: %w", team.Name, err)
	}
	found := Limits{Namespace: args.Namespace, Entries: offers.entries}
	if err := json.Unmarshal(encoded, &found.Policy); err != nil {
		return Limits{}, fmt.Errorf("encode the TenantPolicy of team %s: %w", team.Name, err)
	}
	roles := merge(ClusterRoles(), CatalogueRoles(offers.entries))
	rules := func(names []string) (all []rbac.PolicyRule) {
		for _, name := range names {
			all = append(all, roles[name]...)
		}
		return all
	}
	found.Accounts = []AccountLimits{{Name: args.Account, Path: team.Path, Rules: rules(args.Roles)}}
	for _, account := range args.Accounts {
		if account.Path != "" {
			found.Accounts = append(found.Accounts, AccountLimits{Name: account.Name, Path: account.Path, Rules: rules(account.Roles)})
		}
	}
	return found, nil
}
