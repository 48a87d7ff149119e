package gke

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/container"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/identity"
	"github.com/strata-platform/strata/components/internal/inputs"
)

// cloudPlatformScope leaves authorization to the nodes' IAM roles. Scopes are a legacy second gate.
const cloudPlatformScope = "https://www.googleapis.com/auth/cloud-platform"

// nodeAccount returns the e-mail address of the nodes' service account, and creates the account if NodeServiceAccount is
// nil.
func (a *ClusterArgs) nodeAccount(ctx *pulumi.Context, name string, parent pulumi.Resource) (pulumi.StringPtrInput, error) {
	if !inputs.Missing(a.NodeServiceAccount) {
		return inputs.Optional(a.NodeServiceAccount), nil
	}
	id := pulumi.StringInput(pulumi.Sprintf("%s%s", a.Name, nodeSuffix))
	if given := inputs.Text(a.Name); given != "" {
		// NewIdentity checks plain IDs only.
		id = pulumi.String(given + nodeSuffix)
	}
	nodes, err := identity.NewIdentity(ctx, name+nodeSuffix, &identity.IdentityArgs{
		AccountID:   id,
		DisplayName: pulumi.Sprintf("Nodes of cluster %s", a.Name),
		Project:     a.Project,
		Roles:       []string{NodeRole},
	}, pulumi.Parent(parent), pulumi.Protect(a.protected()))
	if err != nil {
		return nil, err
	}
	return nodes.Email.ToStringPtrOutput(), nil
}

// newCluster creates the cluster without its node pool. nodes is the account of the nodes.
func (a *ClusterArgs) newCluster(ctx *pulumi.Context, name string, parent pulumi.Resource, nodes pulumi.StringPtrInput) (*container.Cluster, error) {
	channel := inputs.Or(a.ReleaseChannel, pulumi.String(DefaultReleaseChannel))
	args := &container.ClusterArgs{
		Name:               inputs.Optional(a.Name),
		Project:            inputs.Optional(a.Project),
		Location:           inputs.Optional(a.Location),
		DeletionProtection: pulumi.Bool(a.protected()),
		// The API creates no cluster without nodes. A separate pool replaces the initial pool after minutes, because it
		// can be changed without touching the cluster.
		InitialNodeCount:      pulumi.Int(1),
		RemoveDefaultNodePool: pulumi.Bool(true),
		Network:               inputs.Optional(a.Network),
		Subnetwork:            inputs.Optional(a.Subnetwork),
		NetworkingMode:        pulumi.String("VPC_NATIVE"),
		// Without Dataplane V2, GKE accepts NetworkPolicies but does not enforce them.
		DatapathProvider:    pulumi.String("ADVANCED_DATAPATH"),
		IpAllocationPolicy:  &container.ClusterIpAllocationPolicyArgs{},
		EnableShieldedNodes: pulumi.Bool(true),
		ReleaseChannel:      &container.ClusterReleaseChannelArgs{Channel: channel},
		WorkloadIdentityConfig: &container.ClusterWorkloadIdentityConfigArgs{
			WorkloadPool: workloadPool(a.Project),
		},
		MasterAuth: &container.ClusterMasterAuthArgs{
			ClientCertificateConfig: &container.ClusterMasterAuthClientCertificateConfigArgs{
				IssueClientCertificate: cmp.Or[pulumi.BoolInput](a.IssueClientCertificate, pulumi.Bool(false)),
			},
		},
		// The initial pool runs for minutes only. But in a project whose default account is deleted or lacks permissions,
		// GKE could not create it without this account.
		NodeConfig: &container.ClusterNodeConfigArgs{
			ServiceAccount: nodes, OauthScopes: pulumi.ToStringArray([]string{cloudPlatformScope}),
		},
	}
	a.setReach(args)
	a.harden(args)
	return container.NewCluster(ctx, name+"-cluster", args, pulumi.Parent(parent), pulumi.Protect(a.protected()),
		pulumi.AdditionalSecretOutputs([]string{"masterAuth"}),
		// After the removal of the initial pool, the API returns the config of another pool. A change of this field would
		// replace the cluster.
		pulumi.IgnoreChanges([]string{"nodeConfig"}))
}

// setReach configures which addresses can connect to the nodes and the control plane.
func (a *ClusterArgs) setReach(args *container.ClusterArgs) {
	if a.Private != nil {
		args.PrivateClusterConfig = &container.ClusterPrivateClusterConfigArgs{
			EnablePrivateNodes:    pulumi.Bool(true),
			EnablePrivateEndpoint: inputs.OptionalBool(cmp.Or[pulumi.BoolInput](a.Private.Endpoint, pulumi.Bool(false))),
			MasterIpv4CidrBlock:   inputs.Optional(a.Private.ControlPlaneRange),
		}
	}
	if len(a.AuthorizedNetworks) == 0 {
		return
	}
	var blocks container.ClusterMasterAuthorizedNetworksConfigCidrBlockArray
	for _, network := range a.AuthorizedNetworks {
		blocks = append(blocks, &container.ClusterMasterAuthorizedNetworksConfigCidrBlockArgs{CidrBlock: network})
	}
	args.MasterAuthorizedNetworksConfig = &container.ClusterMasterAuthorizedNetworksConfigArgs{
		CidrBlocks: blocks,
		// Otherwise every machine of Google Cloud with a public address, of any customer, reaches the control plane.
		GcpPublicCidrsAccessEnabled: pulumi.Bool(false),
	}
}

// addresses returns the IP addresses of the control plane, the private one first. Every cluster whose nodes reach the control
// plane by Private Service Connect has a private address, even a public cluster.
func addresses(cluster *container.Cluster) pulumi.StringArrayOutput {
	return pulumi.All(cluster.PrivateClusterConfig, cluster.Endpoint).ApplyT(func(parts []any) []string {
		private, all := parts[0].(container.ClusterPrivateClusterConfig), []string{}
		for _, each := range []string{value(private.PrivateEndpoint), value(private.PublicEndpoint), parts[1].(string)} {
			// The emulator's endpoint is an address with a port, on this machine's loopback. No pod reaches it.
			if _, err := netip.ParseAddr(each); err == nil && !slices.Contains(all, each) {
				all = append(all, each)
			}
		}
		return all
	}).(pulumi.StringArrayOutput)
}

// newNodePool creates the node pool, which a program can change without a change of the cluster.
func (a *ClusterArgs) newNodePool(
	ctx *pulumi.Context, name string, parent pulumi.Resource, cluster *container.Cluster, account pulumi.StringPtrInput,
) (*container.NodePool, error) {
	nodes := &container.NodePoolNodeConfigArgs{
		ImageType:   pulumi.String(imageType),
		MachineType: inputs.Optional(inputs.Or(a.MachineType, pulumi.String(DefaultMachineType))),
		OauthScopes: pulumi.ToStringArray([]string{cloudPlatformScope}),
		// Pods get the identities of their own accounts, never the node's identity.
		WorkloadMetadataConfig: &container.NodePoolNodeConfigWorkloadMetadataConfigArgs{Mode: pulumi.String("GKE_METADATA")},
		ShieldedInstanceConfig: &container.NodePoolNodeConfigShieldedInstanceConfigArgs{
			EnableSecureBoot: pulumi.Bool(true), EnableIntegrityMonitoring: pulumi.Bool(true),
		},
		ServiceAccount: account,
	}
	upgrade := Upgrade{MaxSurge: pulumi.Int(1)}
	if a.Upgrade != nil {
		upgrade = *a.Upgrade
	}
	args := &container.NodePoolArgs{
		Name:       inputs.Optional(a.Name),
		Cluster:    cluster.Name,
		Project:    inputs.Optional(a.Project),
		Location:   inputs.Optional(a.Location),
		NodeConfig: nodes,
		Management: &container.NodePoolManagementArgs{AutoRepair: pulumi.Bool(true), AutoUpgrade: pulumi.Bool(true)},
		UpgradeSettings: &container.NodePoolUpgradeSettingsArgs{
			Strategy: pulumi.String("SURGE"), MaxSurge: numberOrZero(upgrade.MaxSurge), MaxUnavailable: numberOrZero(upgrade.MaxUnavailable),
		},
	}
	if a.Autoscaling == nil {
		args.NodeCount = inputs.OptionalInt(a.NodeCount)
	} else {
		args.InitialNodeCount = inputs.OptionalInt(a.NodeCount)
		args.Autoscaling = &container.NodePoolAutoscalingArgs{
			MinNodeCount: numberOrZero(a.Autoscaling.Min), MaxNodeCount: inputs.OptionalInt(a.Autoscaling.Max),
		}
	}
	return container.NewNodePool(ctx, name+"-nodes", args, pulumi.Parent(parent), pulumi.Protect(a.protected()),
		// The initial number has no effect later, but a change of it would replace all nodes.
		pulumi.IgnoreChanges([]string{"initialNodeCount"}))
}

func numberOrZero(number pulumi.IntInput) pulumi.IntPtrInput {
	return inputs.OptionalInt(cmp.Or[pulumi.IntInput](number, pulumi.Int(0)))
}
