// Package platform is layer 2 of Strata. It runs as the cluster's administrator, without any cloud permissions. It
// creates the objects that decide who may do what in the cluster: Flux, the ClusterRoles, the account that Flux applies
// sync/ under, and the hop of each team.
//
// It receives the results of layer 1 as handoff.Bootstrap, and hands each team its handoff.Tenant.
package platform

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/settings"
	"github.com/strata-platform/strata/platform/commitstatus"
	"github.com/strata-platform/strata/platform/deletes"
	"github.com/strata-platform/strata/platform/hopguard"
	"github.com/strata-platform/strata/platform/network"
	"github.com/strata-platform/strata/teams"
)

// Names of the stack outputs of layer 2. None of them is a secret. A team's context goes to the team's namespace instead.
const (
	// OutputFluxVersion is the version of Flux that runs.
	OutputFluxVersion = "fluxVersion"
	// OutputTeams maps each team's name to its namespace and its account.
	OutputTeams = "teams"
)

// Program is the layer's Pulumi program. Its configuration is Config.
func Program(ctx *pulumi.Context) error {
	var config Config
	if err := settings.Decode(ctx, &config); err != nil {
		return err
	}
	list, err := teams.Load(settings.Path(ctx, config.TeamsFile))
	if err != nil {
		return err
	}
	all := list.All()
	if err := config.checkTeams(list.Teams); err != nil {
		return err
	}
	pinned, err := config.pinned(ctx)
	if err != nil {
		return err
	}
	config.StrataURL = cmp.Or(config.StrataURL, pinned.Sync.URL)
	// The catalogue is next to teams.yaml: the folder of Pulumi.yaml is another one in an organisation's repository.
	folder := filepath.Join(filepath.Dir(settings.Path(ctx, config.TeamsFile)), catalogue.Folder)
	offers, err := loadOffers(list.Catalogue, folder, config.upstreamOperator(), config.StrataFile != "")
	if err != nil {
		return err
	}
	bootstrap, err := handoff.ReadBootstrap(ctx, config.bootstrapStack(ctx), names(all))
	if err != nil {
		return err
	}
	if err := config.choice().CheckIdentities(bootstrap); err != nil {
		return err
	}
	if err := deletes.Bound(ctx); err != nil {
		return err
	}
	cluster, err := kubernetes.NewProvider(ctx, "cluster", &kubernetes.ProviderArgs{
		Kubeconfig: bootstrap.Kubeconfig.Input(),
		// The provider recognises the cluster by this identifier. Without it, a changed kubeconfig would mean another
		// cluster and replace all of its objects.
		ClusterIdentifier:     pulumi.String(bootstrap.Cluster),
		EnableServerSideApply: pulumi.Bool(true),
		// A rotated credential updates its Secret in place, because Flux and the teams' Stacks refer to the Secret by
		// name.
		EnableSecretMutable: pulumi.Bool(true),
	})
	if err != nil {
		return err
	}
	flux, err := newFlux(ctx, config, bootstrap, all, pulumi.Provider(cluster))
	if err != nil {
		return err
	}
	rights, err := newRights(ctx, config, CatalogueRoles(offers.entries), pulumi.Provider(cluster))
	if err != nil {
		return err
	}
	if err := rights.makePlanIdentity(ctx, bootstrap, pulumi.Provider(cluster)); err != nil {
		return err
	}
	if err := rights.guardOperator(ctx, bootstrap, pulumi.Provider(cluster)); err != nil {
		return err
	}
	if err := network.Flux(ctx, inFlux, OperatorNamespace, config.upstreamOperator(), commitstatus.Any(all), pulumi.Provider(cluster), pulumi.DependsOn(flux.Resources())); err != nil {
		return err
	}
	kind, err := hop.NewPolicyKind(ctx, "tenant-policies", pulumi.Provider(cluster))
	if err != nil {
		return err
	}
	kinds, err := offers.kinds(ctx, pulumi.Provider(cluster))
	if err != nil {
		return err
	}
	guard, err := hopguard.New(ctx, clusterMetadata(HopGuard), config.Contact, pulumi.Provider(cluster))
	if err != nil {
		return err
	}
	defaults, err := fillStacks(ctx, bootstrap.Kubernetes, kind, pulumi.Provider(cluster))
	if err != nil {
		return err
	}
	before := append(slices.Concat(rights.all, flux.Resources(), kinds, defaults), kind, guard)
	syncs, err := newPlatformSyncs(ctx, config, pinned, rights, pulumi.Provider(cluster), pulumi.DependsOn(before))
	if err != nil {
		return err
	}
	// The operator destroys a team's Stacks, so Pulumi must delete the hops before the sync that applies the operator.
	before = append(before, syncs...)
	made := pulumi.Map{}
	for _, team := range all {
		hop, err := newHop(ctx, config, bootstrap, team, offers, pinned, pulumi.Provider(cluster), pulumi.DependsOn(before))
		if err != nil {
			return err
		}
		made[team.Name] = pulumi.Map{"namespace": hop.Namespace, "account": hop.Account}
	}
	ctx.Export(OutputFluxVersion, flux.Version)
	ctx.Export(OutputTeams, made)
	ctx.Export(handoff.OutputStrata, pulumi.String(buildinfo.Version))
	return nil
}

// workers returns a number above the number of syncs, so that a waiting sync delays no other. It grows in steps, because
// a change restarts the controllers.
func (c Config) workers(list []teams.Team) int {
	syncs := 2 // of the fleet and the platform repository
	if c.StrataFile != "" {
		syncs++ // of the organisation's part
	}
	for _, team := range list {
		syncs += 1 + len(team.Accounts)
	}
	return (syncs/fluxcd.DefaultWorkers + 1) * fluxcd.DefaultWorkers
}

func newFlux(
	ctx *pulumi.Context, config Config, bootstrap *handoff.Bootstrap, list []teams.Team, opts ...pulumi.ResourceOption,
) (*fluxcd.Flux, error) {
	args := &fluxcd.FluxArgs{
		GitURL:      pulumi.String(config.FleetURL),
		GitUsername: pulumi.String(config.GitUsername),
		GitPassword: config.GitPassword.Input(),
		Path:        pulumi.String("clusters/" + config.Target),
		Version:     pulumi.String(config.FluxVersion),
		Components:  pulumi.ToStringArray(config.FluxComponents),
		Interval:    pulumi.String(config.Interval),
		Kubeconfig:  bootstrap.Kubeconfig.Input(),

		PrivateRanges: pulumi.ToStringArray(config.PrivateRanges),
		ControlPlane:  bootstrap.Addresses,
		SourcePorts:   config.sourcePorts(),
		Workers:       config.workers(list),
	}
	if config.FleetUsername != "" {
		args.ReadUsername, args.ReadPassword = pulumi.String(config.FleetUsername), config.FleetPassword.Input()
	}
	return fluxcd.NewFlux(ctx, "flux", args, opts...)
}

// bootstrapStack returns the full name of layer 1's stack.
func (c Config) bootstrapStack(ctx *pulumi.Context) string {
	if c.BootstrapStack != "" {
		return c.BootstrapStack
	}
	return fmt.Sprintf("%s/%s/%s", ctx.Organization(), handoff.BootstrapProject, ctx.Stack())
}

func names(list []teams.Team) []string {
	all := make([]string, len(list))
	for i, team := range list {
		all[i] = team.Name
	}
	return all
}
