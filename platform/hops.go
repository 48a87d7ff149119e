package platform

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/teams"
)

// newHop creates a team's hop from teams.yaml, the configuration and the context of layer 1.
func newHop(
	ctx *pulumi.Context, config Config, bootstrap *handoff.Bootstrap, team teams.Team, offers offers, opts ...pulumi.ResourceOption,
) (*hop.Hop, error) {
	tenant := bootstrap.Tenants[team.Name]
	args := &hop.HopArgs{
		Namespace: team.Namespace(),
		Account:   team.ServiceAccount(),
		Roles:     teamRoles(team.May),
		Operator: hop.Operator{
			Namespace: pulumi.String(OperatorNamespace), Account: pulumi.String(OperatorAccount), Role: RoleOperatorTenant,
			Workspaces: config.upstreamOperator(),
		},
		Source: hop.Source{
			URL:      pulumi.String(config.teamURL(team.Name)),
			Branch:   pulumi.String(team.Branch),
			Path:     pulumi.String(team.Path),
			Interval: pulumi.String(config.Interval),
			Webhook:  config.hasReceivers(),
		},
		Quota:         pulumi.ToStringMap(team.Quota.Hard()),
		PrivateRanges: pulumi.ToStringArray(config.PrivateRanges),
		Policy: &hop.Policy{
			Types:         team.Allow,
			StackAccounts: team.StackAccounts(),
			Sources:       pulumi.ToStringArray(team.Sources),
			RunTimeout:    team.RunLimit(),
			Contact:       pulumi.String(config.Contact),
		},
		GoogleAccount: pulumi.String(tenant.Account),
		Context: handoff.Tenant{
			BackendURL:        pulumi.String(tenant.Backend),
			Passphrase:        tenant.Passphrase.Input(),
			GoogleCredentials: tenant.Credentials.Input(),
			Project:           pulumi.String(bootstrap.Project),
			Region:            pulumi.String(bootstrap.Region),
			Instance:          pulumi.String(bootstrap.Instance),
		},
	}
	if text := unfilled(bootstrap.Kubernetes); text != "" {
		args.Policy.Unfilled = pulumi.String(text)
	}
	if team.Offer != "" {
		// An entry of the catalogue: Flux applies its Program from the platform's repository, and the Program creates resources
		// with the names of the teams that order.
		args.Source.URL, args.Source.Branch = pulumi.String(config.PlatformURL), pulumi.String(config.PlatformBranch)
		args.Source.Folders = []string{catalogue.Folder}
		args.Policy.AnyNames = true
		if config.PlatformUsername != "" {
			args.Source.Username, args.Source.Password = pulumi.String(config.PlatformUsername), config.PlatformPassword.Input()
		}
	}
	if login, private := config.TeamCredentials[team.Name]; private {
		args.Source.Username, args.Source.Password = pulumi.String(login.Username), login.Password.Input()
	}
	for _, account := range team.Accounts {
		args.Accounts = append(args.Accounts, hop.Account{Name: account.Name, Roles: teamRoles(account.May), Path: account.Path})
	}
	offers.allowOrders(team, args)
	made, err := hop.NewHop(ctx, "team-"+team.Name, args, opts...)
	if err != nil {
		return nil, err
	}
	return made, offers.bindOperator(ctx, team, made, opts...)
}

// teamRoles returns the ClusterRoles for an account's field "may" in teams.yaml.
func teamRoles(may []string) []string {
	var roles []string
	workloads, stacks := slices.Contains(may, teams.MayWorkloads), slices.Contains(may, teams.MayStacks)
	switch {
	case workloads && stacks:
		roles = append(roles, RoleTeam)
	case workloads:
		roles = append(roles, RoleTeamWorkloads)
	case stacks:
		roles = append(roles, RoleTeamStacks)
	}
	if slices.Contains(may, teams.MaySources) {
		roles = append(roles, RoleTeamSources)
	}
	return roles
}
