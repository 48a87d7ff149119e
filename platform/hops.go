package platform

import (
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/components/hop/stackdefaults"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/pins"
	"github.com/strata-platform/strata/teams"
)

// newHop creates a team's hop from teams.yaml, the configuration and the context of layer 1.
func newHop(
	ctx *pulumi.Context, config Config, bootstrap *handoff.Bootstrap, team teams.Team, offers offers, pinned pins.Pins, opts ...pulumi.ResourceOption,
) (*hop.Hop, error) {
	tenant := bootstrap.Tenants[team.Name]
	args := limits(config, team, offers)
	args.Operator = hop.Operator{
		Namespace: pulumi.String(OperatorNamespace), Account: pulumi.String(OperatorAccount), Role: RoleOperatorTenant,
		Workspaces: config.upstreamOperator(),
	}
	if !config.upstreamOperator() {
		args.PlanRole = RoleTeamPlan
	}
	args.Approvers = hop.Approvers{Role: RoleApprover, Users: team.Approval.Users(), Groups: team.Approval.Groups(), Accounts: team.Approval.Team()}
	args.Source.Branch, args.Source.Path, args.Source.RecurseSubmodules = pulumi.String(team.Branch), pulumi.String(team.Path), team.RecurseSubmodules
	if team.Tags() {
		args.Source.Versions = pulumi.String(team.Versions)
	}
	args.Source.Interval, args.Source.Webhook = pulumi.String(config.Interval), config.hasReceivers()
	args.Quota, args.PrivateRanges = pulumi.ToStringMap(team.Quota.Hard()), pulumi.ToStringArray(config.PrivateRanges)
	args.ControlPlane = bootstrap.Addresses
	args.GoogleAudience = pulumi.String(bootstrap.Audience)
	args.GoogleAccount, args.Notify = pulumi.String(tenant.Account), config.commitStatus().Of(team, ctx.Stack())
	args.Context = handoff.Tenant{
		BackendURL:        pulumi.String(tenant.Backend),
		Passphrase:        tenant.Passphrase.Input(),
		GoogleCredentials: tenant.Credentials.Input(),
		Project:           pulumi.String(bootstrap.Project),
		Region:            pulumi.String(bootstrap.Region),
		Instance:          pulumi.String(bootstrap.Instance),
	}
	if tenant.FormerPassphrase != "" {
		args.Context.FormerPassphrase = tenant.FormerPassphrase.Input()
	}
	if tenant.Provider != "" {
		args.Policy.SecretsProvider = pulumi.String(tenant.Provider)
	}
	if text := stackdefaults.Unfilled(bootstrap.Kubernetes, args.Policy.Workspace); text != "" {
		args.Policy.Unfilled = pulumi.String(text)
	}
	if team.Offer != "" {
		args.Source = offers.source(config, pinned, team)
	}
	if login, private := config.TeamCredentials[team.Name]; private {
		args.Source.Username, args.Source.Password = pulumi.String(login.Username), login.Password.Input()
	}
	artifact, err := config.artifacts().Of(team)
	if err != nil {
		return nil, err
	}
	if artifact != nil {
		args.Source.Artifact = artifact
	}
	if args.Source.Bucket, err = config.BucketCredentials.Of(team); err != nil {
		return nil, err
	}
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
