// Package gke creates a GKE cluster with a node pool of its own, and the kubeconfig that connects to it.
//
//	cluster, err := gke.NewCluster(ctx, "strata", &gke.ClusterArgs{
//		Name: pulumi.String("strata"), Project: pulumi.String("acme-dev"), Location: pulumi.String("europe-west1"),
//		NodeCount: pulumi.Int(1),
//	})
//	// cluster.Kubeconfig is a secret
//
// The cluster is VPC-native, follows a release channel, and has a Workload Identity pool. Its nodes are shielded and run
// under a service account of their own that has only the permissions that nodes need. docs/reference/gke.md lists every
// setting with its reason.
//
// The cluster is protected against deletion by default: the provider protects the cluster, and the engine protects both the
// cluster and the node pool. Without the engine's protection, a destroy would first delete the nodes and then fail at the
// cluster.
package gke

import (
	"cmp"
	"fmt"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/container"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/component"
	"github.com/strata-platform/strata/components/internal/inputs"
)

// Type is the component's type token.
const Type = "strata:index:GKE"

const (
	// DefaultMachineType is the nodes' machine type when ClusterArgs.MachineType is nil.
	DefaultMachineType = "e2-standard-4"
	// DefaultReleaseChannel is the release channel when ClusterArgs.ReleaseChannel is nil.
	DefaultReleaseChannel = "REGULAR"

	// NodeRole is the role that a node needs to report logs and metrics, and no more.
	NodeRole = "roles/container.defaultNodeServiceAccount"

	// maxName leaves room for the suffix of the nodes' account within the 30 characters of an account ID.
	maxName = 30 - len(nodeSuffix)

	nodeSuffix = "-nodes"
)

// Channels returns the release channels that a cluster can follow.
func Channels() []string { return []string{"RAPID", "REGULAR", "STABLE"} }

// ClusterArgs describes a cluster. NewCluster checks plain values before it creates a resource, Google Cloud checks
// computed ones.
type ClusterArgs struct {
	// Name is the cluster's name in the project. Required.
	Name pulumi.StringInput `pulumi:"name"`
	// Project is the Google Cloud project of the cluster. Required.
	Project pulumi.StringInput `pulumi:"project"`
	// Location is a region, for a cluster that survives the loss of a zone, or a zone. Required.
	Location pulumi.StringInput `pulumi:"location"`

	// NodeCount is the number of nodes in each zone of Location; with Autoscaling, the initial number. At least 1.
	// Required. It can be changed in place.
	NodeCount pulumi.IntInput `pulumi:"nodeCount"`
	// Autoscaling lets Google Cloud change the number of nodes; nil keeps the number at NodeCount.
	Autoscaling *Autoscaling `pulumi:"autoscaling,optional"`
	// Upgrade configures node upgrades; nil means one surge node at a time.
	Upgrade *Upgrade `pulumi:"upgrade,optional"`
	// MachineType is the nodes' machine type; nil means DefaultMachineType.
	MachineType pulumi.StringInput `pulumi:"machineType,optional"`
	// NodeServiceAccount is the e-mail address of the nodes' service account, which also runs the nodes of GKE's initial
	// pool. Nil means that NewCluster creates an account named after the cluster, with the suffix -nodes, that has NodeRole
	// only. The nodes never use the project's default account, which usually has far more permissions than a node needs.
	NodeServiceAccount pulumi.StringInput `pulumi:"nodeServiceAccount,optional"`

	// ReleaseChannel decides when versions arrive; it is one of Channels, and nil means DefaultReleaseChannel.
	ReleaseChannel pulumi.StringInput `pulumi:"releaseChannel,optional"`
	// Network is the name or link of an existing VPC network; nil means the network "default".
	Network pulumi.StringInput `pulumi:"network,optional"`
	// Subnetwork is the name or link of a subnetwork of Network in the cluster's region; nil means the one of the region.
	Subnetwork pulumi.StringInput `pulumi:"subnetwork,optional"`
	// Private makes the cluster private: without public addresses for the nodes, and optionally for the control plane.
	// Nil gives the nodes public addresses. An existing cluster cannot become private, or public again.
	Private *Private `pulumi:"private,optional"`
	// AuthorizedNetworks are the ranges, such as 203.0.113.0/24, that may connect to the control plane, and no others:
	// public addresses of Google Cloud, such as those of Cloud Shell, have to be in the list too. None means any address, so
	// that only authentication protects the control plane.
	AuthorizedNetworks []pulumi.StringInput `pulumi:"authorizedNetworks,optional"`

	// Maintenance says when Google Cloud may upgrade the cluster and its nodes by itself; nil means daily from
	// DefaultMaintenanceStart, for DefaultMaintenanceHours.
	Maintenance *Maintenance `pulumi:"maintenance,optional"`
	// NotificationTopic is the ID of the Pub/Sub topic, in the cluster's project, that gets a message about each available
	// and each started upgrade and each security bulletin, such as projects/acme-dev/topics/gke; nil means none.
	NotificationTopic pulumi.StringInput `pulumi:"notificationTopic,optional"`
	// Logging are the components that log to Cloud Logging, of Loggers; none means DefaultLogging. The audit log of the API
	// server needs no component.
	Logging []pulumi.StringInput `pulumi:"logging,optional"`
	// IntranodeVisibility sends the traffic between pods of one node through the VPC network too, so that flow logs contain
	// it; nil leaves the choice to Google Cloud.
	IntranodeVisibility pulumi.BoolInput `pulumi:"intranodeVisibility,optional"`
	// SecretsKey is the name of a Cloud KMS key in the cluster's region, which encrypts Kubernetes Secrets before they reach
	// etcd. GKE's own service agent must be allowed to use the key before. Nil leaves them to the encryption that Google has
	// on every disk. A cluster keeps the encryption if the key is left out later.
	SecretsKey pulumi.StringInput `pulumi:"secretsKey,optional"`
	// SecurityGroup is the group gke-security-groups@ of a Google Workspace domain, whose groups RoleBindings may then name;
	// nil means that bindings name users and accounts only.
	SecurityGroup pulumi.StringInput `pulumi:"securityGroup,optional"`
	// BinaryAuthorization lets the project's policy for Binary Authorization decide which images run. It is a plain value,
	// because the setting exists only if it is on.
	BinaryAuthorization bool `pulumi:"binaryAuthorization,optional"`

	// DeletionProtection makes the provider refuse to delete the cluster, and the engine refuse to delete or replace the
	// cluster or the node pool; nil means true. It is a plain value, because the engine's protection is a resource option.
	DeletionProtection *bool `pulumi:"deletionProtection,optional"`
	// IssueClientCertificate requests a client certificate, so that the kubeconfig works without a plugin; nil means false.
	// Such a certificate cannot be revoked: leave it off where gke-gcloud-auth-plugin is available.
	IssueClientCertificate pulumi.BoolInput `pulumi:"issueClientCertificate,optional"`
}

// Autoscaling bounds the number of nodes in each zone.
type Autoscaling struct {
	// Min is the lowest number; nil means 0.
	Min pulumi.IntInput `pulumi:"min,optional"`
	// Max is the highest number, at least 1. Required.
	Max pulumi.IntInput `pulumi:"max"`
}

// Upgrade limits the number of nodes that an upgrade replaces at once, in each zone. At least one of the fields must be
// above zero.
type Upgrade struct {
	// MaxSurge is the number of extra nodes during the upgrade; nil means 0.
	MaxSurge pulumi.IntInput `pulumi:"maxSurge,optional"`
	// MaxUnavailable is the number of nodes that may be unavailable during the upgrade; nil means 0.
	MaxUnavailable pulumi.IntInput `pulumi:"maxUnavailable,optional"`
}

// Private configures a private cluster. Its nodes reach the internet, and so the registry of Flux's images, only through
// a Cloud NAT of the network. NewCluster does not create the Cloud NAT.
type Private struct {
	// ControlPlaneRange is the /28 range of the control plane's addresses, such as 172.16.0.0/28. No other part of the
	// network may use it. Nil lets Google Cloud choose, which clusters of version 1.29 and later allow.
	ControlPlaneRange pulumi.StringInput `pulumi:"controlPlaneRange,optional"`
	// Endpoint removes the control plane's public address. Every user of the kubeconfig, layer 2 included, must then run
	// inside the network. Nil means false.
	Endpoint pulumi.BoolInput `pulumi:"endpoint,optional"`
}

// Cluster is a GKE cluster with its node pool.
type Cluster struct {
	pulumi.ResourceState

	// Name is the cluster's name, known once the cluster exists.
	Name pulumi.StringOutput `pulumi:"name"`
	// ClusterID is project, location and name in one string. It stays the same when the address or the certificates
	// change.
	ClusterID pulumi.StringOutput `pulumi:"clusterId"`
	// Endpoint is the address of the control plane.
	Endpoint pulumi.StringOutput `pulumi:"endpoint"`
	// ControlPlaneAddresses are the IP addresses of the control plane, the private one first. GKE translates
	// kubernetes.default to one of them, so that pods under a NetworkPolicy need all of them at port 443.
	ControlPlaneAddresses pulumi.StringArrayOutput `pulumi:"controlPlaneAddresses"`
	// CACertificate is the certificate of the cluster's certificate authority, in base64.
	CACertificate pulumi.StringOutput `pulumi:"caCertificate"`
	// Version is the version of the control plane, such as 1.36.3-gke.100, when Pulumi last read it: Google Cloud updates the
	// control plane by itself.
	Version pulumi.StringOutput `pulumi:"version"`
	// WorkloadPool is the pool of identities of the cluster's service accounts. What uses it waits for the cluster: Google
	// Cloud creates a project's pool with the first cluster, and before that refuses to bind a member of the pool.
	WorkloadPool pulumi.StringOutput `pulumi:"workloadPool"`
	// Kubeconfig connects to the cluster; it is a secret. It is known once the node pool exists too.
	Kubeconfig pulumi.StringOutput `pulumi:"kubeconfig"`
}

// NewCluster creates the cluster and its node pool.
func NewCluster(ctx *pulumi.Context, name string, args *ClusterArgs, opts ...pulumi.ResourceOption) (*Cluster, error) {
	args = inputs.Given(args)
	if err := args.check(); err != nil {
		return nil, fmt.Errorf("create GKE cluster %s: %w", name, err)
	}
	cluster := &Cluster{}
	properties := pulumi.Map{
		"name": args.Name, "project": args.Project, "location": args.Location,
		"nodeCount": args.NodeCount, "deletionProtection": pulumi.Bool(args.protected()),
	}
	if err := component.Register(ctx, Type, name, properties, cluster, opts...); err != nil {
		return nil, fmt.Errorf("create GKE cluster %s: %w", name, err)
	}
	nodes, err := args.nodeAccount(ctx, name, cluster)
	if err != nil {
		return nil, fmt.Errorf("create GKE cluster %s: %w", name, err)
	}
	resource, err := args.newCluster(ctx, name, cluster, nodes)
	if err != nil {
		return nil, fmt.Errorf("create GKE cluster %s: %w", name, err)
	}
	pool, err := args.newNodePool(ctx, name, cluster, resource, nodes)
	if err != nil {
		return nil, fmt.Errorf("create the nodes of GKE cluster %s: %w", name, err)
	}
	cluster.Name = resource.Name
	cluster.ClusterID = resource.ID().ToStringOutput()
	cluster.Endpoint = resource.Endpoint
	cluster.ControlPlaneAddresses = addresses(resource)
	cluster.CACertificate = pulumi.Unsecret(authority(resource.MasterAuth)).(pulumi.StringOutput)
	cluster.Version = resource.MasterVersion
	// The value is known before the cluster exists, so that the preview of another cluster replaces no binding.
	cluster.WorkloadPool = pulumi.OutputWithDependencies(ctx.Context(), workloadPool(args.Project), resource).(pulumi.StringOutput)
	cluster.Kubeconfig = args.kubeconfig(resource, pool)
	return cluster, ctx.RegisterResourceOutputs(cluster, pulumi.Map{
		"name": cluster.Name, "clusterId": cluster.ClusterID, "endpoint": cluster.Endpoint, "caCertificate": cluster.CACertificate,
		"controlPlaneAddresses": cluster.ControlPlaneAddresses, "version": cluster.Version, "workloadPool": cluster.WorkloadPool, "kubeconfig": cluster.Kubeconfig,
	})
}

// kubeconfig returns the kubeconfig once the node pool exists, because every reader of the kubeconfig wants to run
// workloads.
func (a *ClusterArgs) kubeconfig(cluster *container.Cluster, pool *container.NodePool) pulumi.StringOutput {
	certificate := cmp.Or[pulumi.BoolInput](a.IssueClientCertificate, pulumi.Bool(false))
	config := pulumi.All(cluster.Endpoint, cluster.MasterAuth, pool.ID(), a.Name, certificate).ApplyT(func(parts []any) (string, error) {
		auth, name := parts[1].(container.ClusterMasterAuth), parts[3].(string)
		reach := access{Name: name, Endpoint: parts[0].(string), CACertificate: value(auth.ClusterCaCertificate)}
		if parts[4].(bool) {
			reach.ClientCertificate, reach.ClientKey = value(auth.ClientCertificate), value(auth.ClientKey)
			if reach.ClientCertificate == "" || reach.ClientKey == "" {
				return "", fmt.Errorf("cluster %s issued no client certificate although IssueClientCertificate is set", name)
			}
		}
		content, err := reach.kubeconfig()
		if err != nil {
			return "", fmt.Errorf("render the kubeconfig of cluster %s: %w", name, err)
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

func (a *ClusterArgs) protected() bool { return a.DeletionProtection == nil || *a.DeletionProtection }
