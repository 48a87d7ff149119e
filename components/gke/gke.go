// Package gke makes a GKE cluster with a node pool of its own, and the kubeconfig that reaches it.
//
//	cluster, err := gke.New(ctx, "strata", &gke.Args{
//		Name: "strata", Project: pulumi.String("acme-dev"), Location: pulumi.String("europe-west1"),
//	})
//	// cluster.Kubeconfig is a secret
//
// The cluster is VPC-native, follows a release channel, has shielded nodes and a Workload Identity pool, and is
// protected against deletion unless told otherwise.
package gke

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/container"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Type is the component's type token.
const Type = "strata:components:GKE"

const (
	// DefaultMachineType is the nodes' machine when Args name none.
	DefaultMachineType = "e2-standard-4"
	// DefaultReleaseChannel is the channel when Args name none.
	DefaultReleaseChannel = "REGULAR"

	// cloudPlatformScope leaves it to the nodes' IAM roles what they may do; scopes are a legacy second gate.
	cloudPlatformScope = "https://www.googleapis.com/auth/cloud-platform"
)

// Args describe a cluster.
type Args struct {
	// Name is the cluster's name in the project. Required.
	Name string
	// Project holds the cluster. Required.
	Project pulumi.StringInput
	// Location is a region for a cluster that survives the loss of a zone, or a zone. Required.
	Location pulumi.StringInput
	// NodeCount is the number of nodes in each zone of Location. Required, at least 1.
	NodeCount int
	// MachineType is the nodes' machine; empty means DefaultMachineType.
	MachineType string
	// ReleaseChannel decides when versions arrive: RAPID, REGULAR or STABLE; empty means DefaultReleaseChannel.
	ReleaseChannel string
	// NodeServiceAccount is the e-mail of the account under which the nodes run. Nil means the project's default account,
	// which usually may do far more than a node needs.
	NodeServiceAccount pulumi.StringInput
	// DeletionProtection makes the provider refuse to delete the cluster; nil means true.
	DeletionProtection *bool
	// IssueClientCertificate asks for a client certificate, with which the kubeconfig then works without a plugin. Such a
	// certificate cannot be revoked, so leave it off where gke-gcloud-auth-plugin is at hand.
	IssueClientCertificate bool
}

// Cluster is a GKE cluster with its node pool.
type Cluster struct {
	pulumi.ResourceState

	// Name is the cluster's name, known once the cluster exists.
	Name pulumi.StringOutput `pulumi:"name"`
	// ClusterID is project, location and name in one. It stays the same when address or certificates change.
	ClusterID pulumi.StringOutput `pulumi:"clusterId"`
	// Endpoint is the address of the control plane.
	Endpoint pulumi.StringOutput `pulumi:"endpoint"`
	// CACertificate is the base64 certificate of the cluster's authority.
	CACertificate pulumi.StringOutput `pulumi:"caCertificate"`
	// WorkloadPool is the pool of identities that the cluster's own accounts belong to.
	WorkloadPool pulumi.StringOutput `pulumi:"workloadPool"`
	// Kubeconfig reaches the cluster; a secret. Known only when the node pool is there as well.
	Kubeconfig pulumi.StringOutput `pulumi:"kubeconfig"`
}

// New makes the cluster and its node pool.
func New(ctx *pulumi.Context, name string, args *Args, opts ...pulumi.ResourceOption) (*Cluster, error) {
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("make GKE cluster %s: %w", name, err)
	}
	cluster := &Cluster{}
	inputs := pulumi.Map{
		"name": pulumi.String(args.Name), "project": args.Project, "location": args.Location,
		"nodeCount": pulumi.Int(args.NodeCount), "deletionProtection": pulumi.Bool(args.protected()),
	}
	if err := ctx.RegisterComponentResourceV2(Type, name, inputs, cluster, opts...); err != nil {
		return nil, fmt.Errorf("make GKE cluster %s: %w", name, err)
	}
	resource, err := args.newCluster(ctx, name, cluster)
	if err != nil {
		return nil, fmt.Errorf("make GKE cluster %s: %w", name, err)
	}
	pool, err := args.newNodePool(ctx, name, cluster, resource)
	if err != nil {
		return nil, fmt.Errorf("make the nodes of GKE cluster %s: %w", name, err)
	}
	cluster.Name = resource.Name
	cluster.ClusterID = resource.ID().ToStringOutput()
	cluster.Endpoint = resource.Endpoint
	cluster.CACertificate = pulumi.Unsecret(authority(resource.MasterAuth)).(pulumi.StringOutput)
	cluster.WorkloadPool = workloadPool(args.Project)
	cluster.Kubeconfig = args.kubeconfig(resource, pool)
	return cluster, ctx.RegisterResourceOutputs(cluster, pulumi.Map{
		"name": cluster.Name, "clusterId": cluster.ClusterID, "endpoint": cluster.Endpoint, "caCertificate": cluster.CACertificate,
		"workloadPool": cluster.WorkloadPool, "kubeconfig": cluster.Kubeconfig,
	})
}

func (a *Args) newCluster(ctx *pulumi.Context, name string, parent pulumi.Resource) (*container.Cluster, error) {
	channel := a.ReleaseChannel
	if channel == "" {
		channel = DefaultReleaseChannel
	}
	return container.NewCluster(ctx, name+"-cluster", &container.ClusterArgs{
		Name:               pulumi.String(a.Name),
		Project:            a.Project.ToStringOutput().ToStringPtrOutput(),
		Location:           a.Location.ToStringOutput().ToStringPtrOutput(),
		DeletionProtection: pulumi.Bool(a.protected()),
		// The API makes no cluster without nodes; the pool of its first minute is replaced by one that can be changed
		// without touching the cluster.
		InitialNodeCount:      pulumi.Int(1),
		RemoveDefaultNodePool: pulumi.Bool(true),
		NetworkingMode:        pulumi.String("VPC_NATIVE"),
		// Without it NetworkPolicies are accepted and not enforced.
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
	}, pulumi.Parent(parent), pulumi.AdditionalSecretOutputs([]string{"masterAuth"}))
}

func (a *Args) newNodePool(ctx *pulumi.Context, name string, parent pulumi.Resource, cluster *container.Cluster) (*container.NodePool, error) {
	machine := a.MachineType
	if machine == "" {
		machine = DefaultMachineType
	}
	nodes := &container.NodePoolNodeConfigArgs{
		MachineType: pulumi.String(machine),
		OauthScopes: pulumi.StringArray{pulumi.String(cloudPlatformScope)},
		// Pods see the identities of their own accounts, never that of the node.
		WorkloadMetadataConfig: &container.NodePoolNodeConfigWorkloadMetadataConfigArgs{Mode: pulumi.String("GKE_METADATA")},
		ShieldedInstanceConfig: &container.NodePoolNodeConfigShieldedInstanceConfigArgs{
			EnableSecureBoot: pulumi.Bool(true), EnableIntegrityMonitoring: pulumi.Bool(true),
		},
	}
	if a.NodeServiceAccount != nil {
		nodes.ServiceAccount = a.NodeServiceAccount.ToStringOutput().ToStringPtrOutput()
	}
	return container.NewNodePool(ctx, name+"-nodes", &container.NodePoolArgs{
		Name:       pulumi.String(a.Name),
		Cluster:    cluster.Name,
		Project:    a.Project.ToStringOutput().ToStringPtrOutput(),
		Location:   a.Location.ToStringOutput().ToStringPtrOutput(),
		NodeCount:  pulumi.Int(a.NodeCount),
		NodeConfig: nodes,
		Management: &container.NodePoolManagementArgs{AutoRepair: pulumi.Bool(true), AutoUpgrade: pulumi.Bool(true)},
	}, pulumi.Parent(parent))
}

// kubeconfig waits for the node pool, since whoever reads it wants to run something.
func (a *Args) kubeconfig(cluster *container.Cluster, pool *container.NodePool) pulumi.StringOutput {
	config := pulumi.All(cluster.Endpoint, cluster.MasterAuth, pool.ID()).ApplyT(func(parts []any) (string, error) {
		auth := parts[1].(container.ClusterMasterAuth)
		reach := access{Name: a.Name, Endpoint: parts[0].(string), CACertificate: value(auth.ClusterCaCertificate)}
		if a.IssueClientCertificate {
			reach.ClientCertificate, reach.ClientKey = value(auth.ClientCertificate), value(auth.ClientKey)
			if reach.ClientCertificate == "" || reach.ClientKey == "" {
				return "", fmt.Errorf("cluster %s issued no client certificate although it was asked to", a.Name)
			}
		}
		content, err := reach.kubeconfig()
		if err != nil {
			return "", fmt.Errorf("render the kubeconfig of cluster %s: %w", a.Name, err)
		}
		return content, nil
	}).(pulumi.StringOutput)
	return pulumi.ToSecret(config).(pulumi.StringOutput)
}

func authority(auth container.ClusterMasterAuthOutput) pulumi.StringOutput {
	return auth.ApplyT(func(auth container.ClusterMasterAuth) string { return value(auth.ClusterCaCertificate) }).(pulumi.StringOutput)
}

func workloadPool(project pulumi.StringInput) pulumi.StringOutput {
	return pulumi.Sprintf("%s.svc.id.goog", project)
}

func (a *Args) protected() bool { return a.DeletionProtection == nil || *a.DeletionProtection }

func (a *Args) check() error {
	var problems []string
	if a.Name == "" {
		problems = append(problems, "name must be given")
	}
	if a.Project == nil {
		problems = append(problems, "project must be given")
	}
	if a.Location == nil {
		problems = append(problems, "location must be given")
	}
	if a.NodeCount < 1 {
		problems = append(problems, fmt.Sprintf("node count is %d: at least 1 is needed", a.NodeCount))
	}
	if len(problems) > 0 {
		return errors.New(strings.Join(problems, "; "))
	}
	return nil
}

func value(pointer *string) string {
	if pointer == nil {
		return ""
	}
	return *pointer
}
