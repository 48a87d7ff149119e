package platform

import (
	"slices"

	corev1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/core/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/fluxcd"
	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/internal/pins"
	"github.com/strata-platform/strata/internal/settings"
	"github.com/strata-platform/strata/platform/artifactguard"
)

// OrganisationSync is the name of the source and the sync of an organisation's part of layer 3, in PlatformNamespace.
const OrganisationSync = "organisation"

// ownFolder is the folder of the platform repository that contains an organisation's part of layer 3.
const ownFolder = "sync"

// artifactComponent makes the Kustomizations of layer 3 refer to an artifact. The path is relative to an entry point.
const artifactComponent = "../artifact"

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

// newPlatformSyncs makes Flux apply layer 3 under the platform account: the entry point below sync/clusters of the target and the operator, and an
// organisation's own part. It returns the syncs, for pulumi.DependsOn.
func newPlatformSyncs(
	ctx *pulumi.Context, config Config, pinned pins.Pins, rights *rights, opts ...pulumi.ResourceOption,
) ([]pulumi.Resource, error) {
	var publishers pulumi.StringInput
	if len(config.PlatformPublishers) > 0 {
		keys, err := corev1.NewSecret(ctx, "platform-publisher", &corev1.SecretArgs{
			Metadata: rights.metadata(PlatformNamespace, hop.PublisherSecret), Data: config.PlatformPublishers.Secret(),
		}, rights.inside(PlatformNamespace, opts)...)
		if err != nil {
			return nil, err
		}
		publishers = keys.Metadata.Name().Elem()
	}
	if config.platform().Artifacts() {
		// The policies for artifacts are in layer 3, which comes from an artifact itself.
		guard, err := artifactguard.New(ctx, clusterMetadata, opts...)
		if err != nil {
			return nil, err
		}
		opts = append(slices.Clone(opts), pulumi.DependsOn(guard))
	}
	if pinned.Strata == "" {
		sync, err := newPlatformSync(ctx, config, config.platform().Origin(SyncFolders(), publishers), true, rights, opts)
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
	organisation, err := newOrganisationSync(ctx, config, config.platform().Origin([]string{ownFolder}, publishers), sync, rights, opts)
	if err != nil {
		return nil, err
	}
	return append(sync.Resources(), organisation.Resources()...), nil
}

// newPlatformSync makes Flux apply the target's entry point below sync/clusters of a repository of Strata's. With receiver,
// a push triggers a check.
func newPlatformSync(
	ctx *pulumi.Context, config Config, origin fluxcd.Origin, receiver bool, rights *rights, opts []pulumi.ResourceOption,
) (*fluxcd.Sync, error) {
	source, err := newPlatformSource(ctx, config, "platform", PlatformAccount, origin, receiver, rights, opts)
	if err != nil {
		return nil, err
	}
	var components []string
	if _, isArtifact := origin.(fluxcd.OCI); isArtifact {
		components = []string{artifactComponent}
	}
	patches, err := config.choice().Patches()
	if err != nil {
		return nil, err
	}
	return fluxcd.NewSync(ctx, "platform-sync", &fluxcd.SyncArgs{
		Namespace:      pulumi.String(PlatformNamespace),
		Name:           pulumi.String(PlatformAccount),
		Source:         source,
		ServiceAccount: pulumi.String(PlatformAccount),
		Path:           pulumi.String("./sync/clusters/" + config.choice().EntryPoint()),
		Components:     components,
		Patches:        patches,
		// The entry point contains only Kustomizations, and they report their own readiness. Flux would check them every
		// five seconds, and report the entry point ready later than them.
		Timeout: pulumi.String("5m"),
	}, opts...)
}

// newOrganisationSync makes Flux apply sync/ of an organisation's repository after Strata's part.
func newOrganisationSync(
	ctx *pulumi.Context, config Config, origin fluxcd.Origin, after *fluxcd.Sync, rights *rights, opts []pulumi.ResourceOption,
) (*fluxcd.Sync, error) {
	source, err := newPlatformSource(ctx, config, OrganisationSync, OrganisationSync, origin, true, rights, opts)
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
	ctx *pulumi.Context, config Config, prefix, name string, origin fluxcd.Origin, receiver bool, rights *rights, opts []pulumi.ResourceOption,
) (*fluxcd.Source, error) {
	// Pulumi uninstalls Flux, and with it Flux's finalizers, before it deletes the namespace.
	inside := rights.inside(PlatformNamespace, opts)
	source, err := fluxcd.NewSource(ctx, prefix+"-source", &fluxcd.SourceArgs{
		Namespace: pulumi.String(PlatformNamespace),
		Name:      pulumi.String(name),
		Origin:    origin,
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
