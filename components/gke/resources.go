package gke

import (
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/container"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/identity"
	"github.com/strata-platform/strata/components/internal/inputs"
)

// cloudPlatformScope leaves authorization to the nodes' IAM roles. Scopes are a legacy second gate.
const cloudPlatformScope = "https://www.googleapis.com/auth/cloud-platform"

// nodeAccount returns the e-mail address of the nodes' service account, and creates the account if Args names none.
func (a *Args) nodeAccount(ctx *pulumi.Context, name string, parent pulumi.Resource) (pulumi.StringPtrInput, error) {
	if a.NodeServiceAccount != nil {
		return inputs.Optional(a.NodeServiceAccount), nil
	}
	nodes, err := identity.New(ctx, name+nodeSuffix, &identity.Args{
		AccountID:   a.Name + nodeSuffix,
		DisplayName: "Nodes of cluster " + a.Name,
		Project:     a.Project,
		Roles:       []string{NodeRole},
	}, pulumi.Parent(parent), pulumi.Protect(a.protected()))
	if err != nil {
		return nil, err
	}
	return nodes.Email.ToStringPtrOutput(), nil
}

func (a *Args) newCluster(ctx *pulumi.Context, name string, parent pulumi.Resource, nodes pulumi.StringPtrInput) (*container.Cluster, error) {
	channel := a.ReleaseChannel
	if channel == "" {
		channel = DefaultReleaseChannel
	}
	args := &container.ClusterArgs{
		Name:               pulumi.String(a.Name),
		Project:            a.Project.ToStringOutput().ToStringPtrOutput(),
		Location:           a.Location.ToStringOutput().ToStringPtrOutput(),
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
		ReleaseChannel:      &container.ClusterReleaseChannelArgs{Channel: pulumi.String(channel)},
		WorkloadIdentityConfig: &container.ClusterWorkloadIdentityConfigArgs{
			WorkloadPool: workloadPool(a.Project),
		},
		MasterAuth: &container.ClusterMasterAuthArgs{
			ClientCertificateConfig: &container.ClusterMasterAuthClientCertificateConfigArgs{
				IssueClientCertificate: pulumi.Bool(a.IssueClientCertificate),
			},
		},
		// The initial pool runs for minutes only. But in a project whose default account is deleted or lacks permissions,
		// GKE could not create it without this account.
		NodeConfig: &container.ClusterNodeConfigArgs{
			ServiceAccount: nodes, OauthScopes: pulumi.ToStringArray([]string{cloudPlatformScope}),
		},
	}
	a.setReach(args)
	return container.NewCluster(ctx, name+"-cluster", args, pulumi.Parent(parent), pulumi.Protect(a.protected()),
		pulumi.AdditionalSecretOutputs([]string{"masterAuth"}),
		// After the removal of the initial pool, the API returns the config of another pool. A change of this field would
		// replace the cluster.
		pulumi.IgnoreChanges([]string{"nodeConfig"}))
}

// setReach configures which addresses can connect to the nodes and the control plane.
func (a *Args) setReach(args *container.ClusterArgs) {
	if a.Private != nil {
		args.PrivateClusterConfig = &container.ClusterPrivateClusterConfigArgs{
			EnablePrivateNodes:    pulumi.Bool(true),
			EnablePrivateEndpoint: pulumi.Bool(a.Private.Endpoint),
			MasterIpv4CidrBlock:   inputs.NonEmpty(a.Private.ControlPlaneRange),
		}
	}
	if len(a.AuthorizedNetworks) == 0 {
		return
	}
	var blocks container.ClusterMasterAuthorizedNetworksConfigCidrBlockArray
	for _, network := range a.AuthorizedNetworks {
		blocks = append(blocks, &container.ClusterMasterAuthorizedNetworksConfigCidrBlockArgs{CidrBlock: pulumi.String(network)})
	}
	args.MasterAuthorizedNetworksConfig = &container.ClusterMasterAuthorizedNetworksConfigArgs{CidrBlocks: blocks}
}

func (a *Args) newNodePool(
	ctx *pulumi.Context, name string, parent pulumi.Resource, cluster *container.Cluster, account pulumi.StringPtrInput,
) (*container.NodePool, error) {
	machine := a.MachineType
	if machine == "" {
		machine = DefaultMachineType
	}
	nodes := &container.NodePoolNodeConfigArgs{
		MachineType: pulumi.String(machine),
		OauthScopes: pulumi.ToStringArray([]string{cloudPlatformScope}),
		// Pods get the identities of their own accounts, never the node's identity.
		WorkloadMetadataConfig: &container.NodePoolNodeConfigWorkloadMetadataConfigArgs{Mode: pulumi.String("GKE_METADATA")},
		ShieldedInstanceConfig: &container.NodePoolNodeConfigShieldedInstanceConfigArgs{
			EnableSecureBoot: pulumi.Bool(true), EnableIntegrityMonitoring: pulumi.Bool(true),
		},
		ServiceAccount: account,
	}
	upgrade := Upgrade{MaxSurge: 1}
	if a.Upgrade != nil {
		upgrade = *a.Upgrade
	}
	args := &container.NodePoolArgs{
		Name:       pulumi.String(a.Name),
		Cluster:    cluster.Name,
		Project:    a.Project.ToStringOutput().ToStringPtrOutput(),
		Location:   a.Location.ToStringOutput().ToStringPtrOutput(),
		NodeConfig: nodes,
		Management: &container.NodePoolManagementArgs{AutoRepair: pulumi.Bool(true), AutoUpgrade: pulumi.Bool(true)},
		UpgradeSettings: &container.NodePoolUpgradeSettingsArgs{
			Strategy: pulumi.String("SURGE"), MaxSurge: pulumi.Int(upgrade.MaxSurge), MaxUnavailable: pulumi.Int(upgrade.MaxUnavailable),
		},
	}
	if a.Autoscaling == nil {
		args.NodeCount = pulumi.Int(a.NodeCount)
	} else {
		args.InitialNodeCount = pulumi.Int(a.NodeCount)
		args.Autoscaling = &container.NodePoolAutoscalingArgs{
			MinNodeCount: pulumi.Int(a.Autoscaling.Min), MaxNodeCount: pulumi.Int(a.Autoscaling.Max),
		}
	}
	return container.NewNodePool(ctx, name+"-nodes", args, pulumi.Parent(parent), pulumi.Protect(a.protected()),
		// The initial number has no effect later, but a change of it would replace all nodes.
		pulumi.IgnoreChanges([]string{"initialNodeCount"}))
}
