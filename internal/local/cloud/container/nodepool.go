package container

import (
	"slices"

	"go.etcd.io/bbolt"
	container "google.golang.org/api/container/v1beta1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// The emulator stores and returns node pools, but has no machines for them: a home has one node, which belongs to no
// pool.

func poolLink(on *cluster, name string) string { return on.link() + "/nodePools/" + name }

// fillNodePool sets the fields that Google Cloud sets in a new node pool. It returns an error for a node pool that
// Google Cloud would reject.
func (s *service) fillNodePool(on *cluster, pool *container.NodePool) error {
	if pool == nil || !clusterNames.MatchString(pool.Name) {
		return api.InvalidArgument("Invalid value for field \"node_pool.name\": it must match %s.", clusterNames)
	}
	if err := checkVersionOf("node_pool.version", pool.Version); err != nil {
		return err
	}
	pool.Status = on.Cluster.Status
	pool.SelfLink = s.BaseURL + "/container/v1/" + poolLink(on, pool.Name)
	pool.Version = kubernetesVersion
	if len(pool.Locations) == 0 {
		pool.Locations = on.Cluster.Locations
	}
	api.SetMissing(&pool.Config, container.NodeConfig{})
	api.SetDefault(&pool.Config.MachineType, "e2-medium")
	api.SetDefault(&pool.Config.DiskType, "pd-balanced")
	api.SetDefault(&pool.Config.ImageType, "COS_CONTAINERD")
	api.SetDefault(&pool.Config.ServiceAccount, "default")
	if pool.Config.DiskSizeGb == 0 {
		pool.Config.DiskSizeGb = 100
	}
	if pool.Config.Metadata == nil {
		pool.Config.Metadata = map[string]string{"disable-legacy-endpoints": "true"}
	}
	api.SetMissing(&pool.Config.ShieldedInstanceConfig, container.ShieldedInstanceConfig{EnableIntegrityMonitoring: true})
	if len(pool.Config.OauthScopes) == 0 {
		pool.Config.OauthScopes = defaultScopes()
	}
	api.SetMissing(&pool.Management, container.NodeManagement{AutoRepair: true, AutoUpgrade: true})
	api.SetMissing(&pool.UpgradeSettings, container.UpgradeSettings{MaxSurge: 1, Strategy: "SURGE"})
	api.SetMissing(&pool.MaxPodsConstraint, container.MaxPodsConstraint{MaxPodsPerNode: 110})
	api.SetMissing(&pool.NetworkConfig, container.NodeNetworkConfig{})
	api.SetDefault(&pool.NetworkConfig.PodIpv4CidrBlock, on.Cluster.ClusterIpv4Cidr)
	return s.completePool(on, pool)
}

// defaultScopes are the OAuth scopes of nodes if the request names none.
func defaultScopes() []string {
	const auth = "https://www.googleapis.com/auth/"
	return []string{
		auth + "devstorage.read_only", auth + "logging.write", auth + "monitoring", auth + "service.management.readonly",
		auth + "servicecontrol", auth + "trace.append",
	}
}

// completePool checks a new or changed node pool and sets its derived fields.
func (s *service) completePool(on *cluster, pool *container.NodePool) error {
	channel := on.Cluster.ReleaseChannel
	scaling := pool.Autoscaling
	switch {
	case pool.InitialNodeCount < 0:
		return api.InvalidArgument("Invalid value for field \"node_pool.initial_node_count\": %d is negative.", pool.InitialNodeCount)
	case channel != nil && channel.Channel != "" && channel.Channel != "UNSPECIFIED" && !pool.Management.AutoUpgrade:
		return api.InvalidArgument("Auto_upgrade must be true when release_channel %s is set.", channel.Channel)
	case scaling != nil && scaling.Enabled && scaling.MinNodeCount > scaling.MaxNodeCount && scaling.TotalMaxNodeCount == 0:
		return api.InvalidArgument("Autoscaling.min_node_count %d must not be greater than autoscaling.max_node_count %d.", scaling.MinNodeCount, scaling.MaxNodeCount)
	}
	if err := checkLocations(on.Cluster.Location, pool.Locations); err != nil {
		return err
	}
	pool.InstanceGroupUrls = nil
	for _, zone := range pool.Locations {
		pool.InstanceGroupUrls = append(pool.InstanceGroupUrls, s.groupLink(on, pool.Name, zone))
	}
	pool.Etag = api.RandomText(8)
	return nil
}

// withPool runs fn in a transaction with the cluster and the index of the node pool that the path names.
func withPool(c *api.Call, run func(func(*bbolt.Tx) error) error, fn func(*bbolt.Tx, *cluster, int) error) error {
	return withCluster(c, run, func(tx *bbolt.Tx, on *cluster) error {
		at := slices.IndexFunc(on.Cluster.NodePools, func(p *container.NodePool) bool { return p.Name == c.Vars["pool"] })
		if at < 0 {
			return api.NotFound("Not found: %s.", poolLink(on, c.Vars["pool"]))
		}
		return fn(tx, on, at)
	})
}

// createNodePool adds a node pool to the record of the cluster. No machine starts, so the operation is done at once.
func (s *service) createNodePool(c *api.Call) (any, error) {
	var request container.CreateNodePoolRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	var answer *container.Operation
	err := withCluster(c, s.Store.Update, func(tx *bbolt.Tx, on *cluster) error {
		if err := on.idle(); err != nil {
			return err
		}
		if isAutopilot(on.Cluster) {
			return api.InvalidArgument("Autopilot clusters do not support mutating node pools.")
		}
		if err := s.fillNodePool(on, request.NodePool); err != nil {
			return err
		}
		if err := s.requireActAs(tx, c, request.NodePool.Config.ServiceAccount); err != nil {
			return err
		}
		for _, pool := range on.Cluster.NodePools {
			if pool.Name == request.NodePool.Name {
				return api.AlreadyExists("Already exists: %s.", poolLink(on, pool.Name))
			}
		}
		on.Cluster.NodePools = append(on.Cluster.NodePools, request.NodePool)
		var err error
		answer, err = s.changeCluster(tx, on, "CREATE_NODE_POOL", poolLink(on, request.NodePool.Name))
		return err
	})
	return answer, err
}

// changeCluster stores a changed cluster and the finished operation that changed it.
func (s *service) changeCluster(tx *bbolt.Tx, on *cluster, kind, target string) (*container.Operation, error) {
	on.Cluster.Etag = api.RandomText(8)
	if err := store.Put(tx, clusters, on.key(), on); err != nil {
		return nil, err
	}
	return s.doneClusterOperation(tx, on, kind, target)
}

func (s *service) getNodePool(c *api.Call) (any, error) {
	var answer *container.NodePool
	err := withPool(c, s.Store.View, func(_ *bbolt.Tx, on *cluster, at int) error {
		answer = on.Cluster.NodePools[at]
		return nil
	})
	return answer, err
}

func (s *service) listNodePools(c *api.Call) (any, error) {
	answer := &container.ListNodePoolsResponse{}
	err := withCluster(c, s.Store.View, func(_ *bbolt.Tx, on *cluster) error {
		answer.NodePools = on.Cluster.NodePools
		return nil
	})
	return answer, err
}

// deleteNodePool removes a node pool from the cluster's record. It stops nothing, because node pools have no machines.
func (s *service) deleteNodePool(c *api.Call) (any, error) {
	var answer *container.Operation
	err := withPool(c, s.Store.Update, func(tx *bbolt.Tx, on *cluster, at int) error {
		if err := on.idle(); err != nil {
			return err
		}
		on.Cluster.NodePools = slices.Delete(on.Cluster.NodePools, at, at+1)
		var err error
		answer, err = s.changeCluster(tx, on, "DELETE_NODE_POOL", poolLink(on, c.Vars["pool"]))
		return err
	})
	return answer, err
}

// changePool handles a call that changes one property of a node pool.
func (s *service) changePool(c *api.Call, kind string, change func(*container.NodePool) error) (any, error) {
	var answer *container.Operation
	err := withPool(c, s.Store.Update, func(tx *bbolt.Tx, on *cluster, at int) error {
		if err := on.idle(); err != nil {
			return err
		}
		if err := change(on.Cluster.NodePools[at]); err != nil {
			return err
		}
		if err := s.completePool(on, on.Cluster.NodePools[at]); err != nil {
			return err
		}
		var err error
		answer, err = s.changeCluster(tx, on, kind, poolLink(on, c.Vars["pool"]))
		return err
	})
	return answer, err
}

func (s *service) setNodePoolSize(c *api.Call) (any, error) {
	var request container.SetNodePoolSizeRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	return s.changePool(c, "SET_NODE_POOL_SIZE", func(pool *container.NodePool) error {
		pool.InitialNodeCount = request.NodeCount
		return nil
	})
}

func (s *service) setNodePoolManagement(c *api.Call) (any, error) {
	var request container.SetNodePoolManagementRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	return s.changePool(c, "SET_NODE_POOL_MANAGEMENT", func(pool *container.NodePool) error {
		if request.Management == nil {
			return api.InvalidArgument("\"management\" is required.")
		}
		pool.Management = request.Management
		return nil
	})
}

func (s *service) setNodePoolAutoscaling(c *api.Call) (any, error) {
	var request container.SetNodePoolAutoscalingRequest
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	return s.changePool(c, "UPDATE_CLUSTER", func(pool *container.NodePool) error {
		pool.Autoscaling = request.Autoscaling
		return nil
	})
}
