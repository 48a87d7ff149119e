package container

import (
	"context"
	"encoding/base64"
	"fmt"

	"go.etcd.io/bbolt"
	container "google.golang.org/api/container/v1beta1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// Runtime runs the control planes of clusters.
type Runtime interface {
	// Create starts the control plane of a cluster and returns when the control plane serves. After a restart of the
	// emulator, Create adopts a running control plane or starts the existing one again.
	Create(ctx context.Context, name string) (Access, error)
	// Delete stops the control plane and erases its data. It succeeds if there is no control plane.
	Delete(ctx context.Context, name string) error
}

// Access is the endpoint of a cluster and its administrator's credentials. The certificates and the key are in
// PEM form.
type Access struct {
	Endpoint          string // host:port
	PrivateEndpoint   string // address at which pods reach the API server; "" in clusters of earlier versions
	CA                []byte
	ClientCertificate []byte
	ClientKey         []byte
}

// cluster is the record of a cluster. The credentials are separate from the fields that the API returns.
type cluster struct {
	Cluster *container.Cluster `json:"cluster"`
	Project string             `json:"project"`
	Access  Access             `json:"access"`
	// Busy is the name of the operation in progress, or "".
	Busy string `json:"busy,omitempty"`
}

// The status values of clusters and node pools.
const (
	provisioning = "PROVISIONING"
	running      = "RUNNING"
	stopping     = "STOPPING"
	failed       = "ERROR"
)

// createCluster stores the cluster and starts the operation that starts its control plane.
func (s *service) createCluster(c *api.Call) (any, error) {
	var request container.CreateClusterRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	wanted := request.Cluster
	if err := checkCluster(c, wanted); err != nil {
		return nil, err
	}
	if s.clusters == nil {
		return nil, api.FailedPrecondition("This emulator was started without a cluster runtime.")
	}
	created := &cluster{Cluster: wanted, Project: c.Project.ID}
	if err := s.fillCluster(c, created); err != nil {
		return nil, err
	}
	var op *clusterOperation
	err := s.Store.Update(func(tx *bbolt.Tx) error {
		if err := checkQuota(tx, created); err != nil {
			return err
		}
		for _, pool := range wanted.NodePools {
			if err := s.requireActAs(tx, c, pool.Config.ServiceAccount); err != nil {
				return err
			}
		}
		var err error
		op, err = s.beginClusterOperation(tx, created, "CREATE_CLUSTER")
		return err
	})
	if err != nil {
		return nil, err
	}
	answer := *op.Operation
	s.Background(func(ctx context.Context) { _ = s.runClusterOperation(ctx, op) })
	return &answer, nil
}

// checkQuota returns an error for a cluster that already exists, and for a second cluster, because a home has one
// control plane.
func checkQuota(tx *bbolt.Tx, created *cluster) error {
	all, err := store.List[cluster](tx, clusters, "")
	if err != nil || len(all) == 0 {
		return err
	}
	if all[0].key() == created.key() {
		return api.AlreadyExists("Already exists: %s.", created.link())
	}
	return api.PermissionDenied("You cannot create more than 1 clusters in location %s; to create more than 1, use another home: "+
		"the emulated Google Cloud has the quota of one cluster, and %s is it.", created.Cluster.Location, all[0].link())
}

// response returns the cluster in the form of the API's responses. It includes the client certificate only if the
// creator of the cluster requested one.
func (k *cluster) response() *container.Cluster {
	answer := *k.Cluster
	auth := &container.MasterAuth{ClusterCaCertificate: base64.StdEncoding.EncodeToString(k.Access.CA)}
	if answer.MasterAuth != nil {
		auth.ClientCertificateConfig = answer.MasterAuth.ClientCertificateConfig
	}
	if auth.ClientCertificateConfig != nil && auth.ClientCertificateConfig.IssueClientCertificate {
		auth.ClientCertificate = base64.StdEncoding.EncodeToString(k.Access.ClientCertificate)
		auth.ClientKey = base64.StdEncoding.EncodeToString(k.Access.ClientKey)
	}
	answer.MasterAuth = auth
	answer.Endpoint = k.Access.Endpoint
	if ends := answer.ControlPlaneEndpointsConfig; ends != nil && ends.IpEndpointsConfig != nil {
		ends.IpEndpointsConfig.PublicEndpoint, ends.IpEndpointsConfig.PrivateEndpoint = k.Access.Endpoint, k.Access.PrivateEndpoint
	}
	if k.Access.PrivateEndpoint != "" {
		// Google Cloud returns both addresses for a public cluster, too, and the official provider reads them here.
		private := container.PrivateClusterConfig{}
		if answer.PrivateClusterConfig != nil {
			private = *answer.PrivateClusterConfig
		}
		private.PublicEndpoint, private.PrivateEndpoint = k.Access.Endpoint, k.Access.PrivateEndpoint
		answer.PrivateClusterConfig = &private
	}
	answer.CurrentNodeCount, answer.InstanceGroupUrls = 0, nil
	for _, pool := range answer.NodePools {
		answer.CurrentNodeCount += pool.InitialNodeCount * int64(len(pool.Locations))
		answer.InstanceGroupUrls = append(answer.InstanceGroupUrls, pool.InstanceGroupUrls...)
	}
	return &answer
}

// withCluster runs fn in a transaction with the cluster that the path names.
func withCluster(c *api.Call, run func(func(*bbolt.Tx) error) error, fn func(*bbolt.Tx, *cluster) error) error {
	return run(func(tx *bbolt.Tx) error {
		found, err := store.Get[cluster](tx, clusters, clusterKey(c.ProjectID(), c.Vars["location"], c.Vars["cluster"]))
		if err != nil {
			return err
		}
		if found == nil {
			return api.NotFound("Not found: %s.", clusterLink(c.ProjectID(), c.Vars["location"], c.Vars["cluster"]))
		}
		return fn(tx, found)
	})
}

func (s *service) getCluster(c *api.Call) (any, error) {
	var answer *container.Cluster
	err := withCluster(c, s.Store.View, func(_ *bbolt.Tx, found *cluster) error {
		answer = found.response()
		return nil
	})
	return answer, err
}

func (s *service) listClusters(c *api.Call) (any, error) {
	prefix := c.Project.ID + "/"
	if location := c.Vars["location"]; location != "-" {
		prefix += location + "/"
	}
	answer := &container.ListClustersResponse{}
	err := s.Store.View(func(tx *bbolt.Tx) error {
		return store.Each(tx, clusters, prefix, func(_ string, found *cluster) error {
			answer.Clusters = append(answer.Clusters, found.response())
			return nil
		})
	})
	return answer, err
}

// deleteCluster starts the operation that stops the control plane and erases its data.
func (s *service) deleteCluster(c *api.Call) (any, error) {
	var op *clusterOperation
	err := withCluster(c, s.Store.Update, func(tx *bbolt.Tx, found *cluster) error {
		if err := found.idle(); err != nil {
			return err
		}
		found.Cluster.Status = stopping
		var err error
		op, err = s.beginClusterOperation(tx, found, "DELETE_CLUSTER")
		return err
	})
	if err != nil {
		return nil, err
	}
	answer := *op.Operation
	s.Background(func(ctx context.Context) { _ = s.runClusterOperation(ctx, op) })
	return &answer, nil
}

// resumeClusters starts the control plane of an existing cluster again and resumes unfinished operations.
func (s *service) resumeClusters(ctx context.Context) error {
	var existing []*cluster
	var pending []*clusterOperation
	err := s.Store.View(func(tx *bbolt.Tx) error {
		err := store.Each(tx, clusters, "", func(_ string, found *cluster) error {
			if found.Cluster.Status == running {
				existing = append(existing, found)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return store.Each(tx, clusterOps, "", func(_ string, op *clusterOperation) error {
			if op.Operation.Status != "DONE" {
				pending = append(pending, op)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	for _, op := range pending {
		if err := s.runClusterOperation(ctx, op); err != nil {
			return fmt.Errorf("resume %s of cluster %s: %w", op.Operation.OperationType, op.Cluster, err)
		}
	}
	for _, found := range existing {
		if s.clusters == nil {
			return fmt.Errorf("resume cluster %s: this emulator was started without a cluster runtime", found.Cluster.Name)
		}
		access, err := s.clusters.Create(ctx, found.Cluster.Name)
		if err != nil {
			return fmt.Errorf("resume cluster %s: %w", found.Cluster.Name, err)
		}
		found.Access = access
		if err := s.Store.Update(func(tx *bbolt.Tx) error { return store.Put(tx, clusters, found.key(), found) }); err != nil {
			return err
		}
	}
	return nil
}
