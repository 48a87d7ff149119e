package platform

import (
	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/internal/pins"
	"github.com/strata-platform/strata/internal/settings"
)

// OrganisationSync is the name of the source and the sync of an organisation's part of layer 3, in PlatformNamespace.
const OrganisationSync = "organisation"

// ownFolder is the folder of the platform repository that contains an organisation's part of layer 3.
const ownFolder = "sync"

// SyncFolders returns the folders of Strata's repository that Flux reads: Kustomizations may refer only to paths below
// them. Flux checks out no other folders, which takes it a second less for Strata's own repository.
func SyncFolders() []string { return []string{ownFolder, "operator/config"} }

// pinned returns the content of StrataFile, or the zero value if StrataFile is empty.
func (c Config) pinned(ctx *pulumi.Context) (pins.Pins, error) {
	if c.StrataFile == "" {
		return pins.Pins{}, nil
	}
	return pins.Load(settings.Path(ctx, c.StrataFile))
}

// newPlatformSyncs makes Flux apply layer 3 under the platform account: the target's entry point below sync/clusters, and an
// organisation's own part. It returns the syncs, for pulumi.DependsOn.
func newPlatformSyncs(
	ctx *pulumi.Context, config Config, pinned pins.Pins, rights *rights, opts ...pulumi.ResourceOption,
) ([]pulumi.Resource, error) {
	own := fluxcd.Git{URL: pulumi.String(config.PlatformURL), Branch: pulumi.String(config.PlatformBranch), SparseCheckout: SyncFolders()}
	if config.PlatformUsername != "" {
		own.Username, own.Password = pulumi.String(config.PlatformUsername), config.PlatformPassword.Input()
	}
	if len(config.PlatformPublishers) > 0 {
		keys, err := corev1.NewSecret(ctx, "platform-publisher", &corev1.SecretArgs{
			Metadata: rights.metadata(PlatformNamespace, hop.PublisherSecret), Data: config.PlatformPublishers.Secret(),
		}, rights.inside(PlatformNamespace, opts)...)
		if err != nil {
			return nil, err
		}
		own.Verify = &fluxcd.GitVerification{SecretName: keys.Metadata.Name().Elem()}
	}
	if pinned.Strata == "" {
		sync, err := newPlatformSync(ctx, config, own, true, rights, opts)
		if err != nil {
			return nil, err
		}
		return sync.Resources(), nil
	}
	strata := fluxcd.Git{
		URL: pulumi.String(config.StrataURL), SparseCheckout: SyncFolders(),
		// Without the branch, source-controller would fetch every branch to find the commit.
		Branch: pulumi.String(pinned.Branch()), Commit: pulumi.String(pinned.Sync.Commit),
	}
	if config.StrataUsername != "" {
		strata.Username, strata.Password = pulumi.String(config.StrataUsername), config.StrataPassword.Input()
	}
	sync, err := newPlatformSync(ctx, config, strata, false, rights, opts)
	if err != nil {
		return nil, err
	}
	own.SparseCheckout = []string{ownFolder}
	organisation, err := newOrganisationSync(ctx, config, own, sync, rights, opts)
	if err != nil {
		return nil, err
	}
	return append(sync.Resources(), organisation.Resources()...), nil
}

// newPlatformSync makes Flux apply the target's entry point below sync/clusters of a repository of Strata's. With receiver,
// a push triggers a check.
func newPlatformSync(
	ctx *pulumi.Context, config Config, repository fluxcd.Git, receiver bool, rights *rights, opts []pulumi.ResourceOption,
) (*fluxcd.Sync, error) {
	source, err := newPlatformSource(ctx, config, "platform", PlatformAccount, repository, receiver, rights, opts)
	if err != nil {
		return nil, err
	}
	return fluxcd.NewSync(ctx, "platform-sync", &fluxcd.SyncArgs{
		Namespace:      pulumi.String(PlatformNamespace),
		Name:           pulumi.String(PlatformAccount),
		Source:         source,
		ServiceAccount: pulumi.String(PlatformAccount),
		Path:           pulumi.String("./sync/clusters/" + config.Target),
		// The entry point contains only Kustomizations, and they report their own readiness. Flux would check them every
		// five seconds, and report the entry point ready later than them.
		Timeout: pulumi.String("5m"),
	}, opts...)
}

// newOrganisationSync makes Flux apply sync/ of an organisation's repository after Strata's part.
func newOrganisationSync(
	ctx *pulumi.Context, config Config, repository fluxcd.Git, after *fluxcd.Sync, rights *rights, opts []pulumi.ResourceOption,
) (*fluxcd.Sync, error) {
	source, err := newPlatformSource(ctx, config, OrganisationSync, OrganisationSync, repository, true, rights, opts)
	if err != nil {
		return nil, err
	}
	return fluxcd.NewSync(ctx, "organisation-sync", &fluxcd.SyncArgs{
		Namespace:      pulumi.String(PlatformNamespace),
		Name:           pulumi.String(OrganisationSync),
		Source:         source,
		ServiceAccount: pulumi.String(PlatformAccount),
		Path:           pulumi.String("./" + ownFolder),
		DependsOn:      []*fluxcd.Sync{after},
		Timeout:        pulumi.String("5m"),
	}, opts...)
}

// newPlatformSource makes Flux fetch a repository into PlatformNamespace. The names of the Pulumi resources begin with prefix.
func newPlatformSource(
	ctx *pulumi.Context, config Config, prefix, name string, repository fluxcd.Git, receiver bool, rights *rights, opts []pulumi.ResourceOption,
) (*fluxcd.Source, error) {
	// Pulumi uninstalls Flux, and with it Flux's finalizers, before it deletes the namespace.
	inside := rights.inside(PlatformNamespace, opts)
	source, err := fluxcd.NewSource(ctx, prefix+"-source", &fluxcd.SourceArgs{
		Namespace: pulumi.String(PlatformNamespace),
		Name:      pulumi.String(name),
		Origin:    repository,
		Interval:  pulumi.String(config.Interval),
	}, inside...)
	if err != nil || !receiver || !config.hasReceivers() {
		return source, err
	}
	_, err = fluxcd.NewReceiver(ctx, prefix+"-receiver", &fluxcd.ReceiverArgs{
		Namespace: pulumi.String(PlatformNamespace),
		Name:      pulumi.String(name),
		Sources:   []*fluxcd.Source{source},
	}, inside...)
	return source, err
}
