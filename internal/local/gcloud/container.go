package gcloud

import (
	"go.etcd.io/bbolt"
	"google.golang.org/api/container/v1"
)

func (s *Server) containerService() *service {
	const (
		parent    = "v1|v1beta1/projects/{project}/locations|zones/{location}"
		all       = parent + "/clusters"
		one       = all + "/{cluster}"
		pools     = one + "/nodePools"
		pool      = pools + "/{pool}"
		canUpdate = "container.clusters.update"
	)
	return &service{
		name:   "container.googleapis.com",
		title:  "Kubernetes Engine API",
		prefix: "container",
		denied: func(permission string, on resource) *apiError {
			return permissionDenied("Required %q permission(s) for %q.", permission, on.name)
		},
		routes: []route{
			{method: "POST", pattern: all, permission: "container.clusters.create", handle: s.createCluster},
			{method: "GET", pattern: all, permission: "container.clusters.list", handle: s.listClusters},
			{method: "POST", pattern: one + ":setResourceLabels", permission: canUpdate, on: onCluster, handle: s.setResourceLabels},
			{method: "GET", pattern: one, permission: "container.clusters.get", on: onCluster, handle: s.getCluster},
			{method: "DELETE", pattern: one, permission: "container.clusters.delete", on: onCluster, handle: s.deleteCluster},
			{method: "POST", pattern: pools, permission: canUpdate, on: onCluster, handle: s.createNodePool},
			{method: "GET", pattern: pools, permission: "container.clusters.get", on: onCluster, handle: s.listNodePools},
			{method: "POST", pattern: pool + ":setSize", permission: canUpdate, on: onCluster, handle: s.setNodePoolSize},
			{method: "POST", pattern: pool + ":setManagement", permission: canUpdate, on: onCluster, handle: s.setNodePoolManagement},
			{method: "POST", pattern: pool + ":setAutoscaling", permission: canUpdate, on: onCluster, handle: s.setNodePoolAutoscaling},
			{method: "GET", pattern: pool, permission: "container.clusters.get", on: onCluster, handle: s.getNodePool},
			{method: "PUT", pattern: pool, permission: canUpdate, on: onCluster, handle: s.updateNodePool},
			{method: "DELETE", pattern: pool, permission: canUpdate, on: onCluster, handle: s.deleteNodePool},
			{method: "GET", pattern: parent + "/operations", permission: "container.operations.list", handle: s.listClusterOperations},
			{method: "GET", pattern: parent + "/operations/{operation}", permission: "container.operations.get", handle: s.getClusterOperation},
			{method: "GET", pattern: parent + "/serverConfig", permission: "container.clusters.list", handle: getServerConfig},
		},
	}
}

func (s *Server) setResourceLabels(c *call) (any, error) {
	var request container.SetLabelsRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	var answer *container.Operation
	err := withCluster(c, s.store.update, func(tx *bbolt.Tx, on *cluster) error {
		if err := requireIdle(tx, on); err != nil {
			return err
		}
		if request.LabelFingerprint != on.Cluster.LabelFingerprint {
			return failedPrecondition("Labels could not be set due to fingerprint mismatch; get the cluster again and retry.")
		}
		on.Cluster.ResourceLabels = request.ResourceLabels
		on.Cluster.LabelFingerprint = randomText(6)
		var err error
		answer, err = s.changeCluster(tx, on, "UPDATE_CLUSTER", on.link())
		return err
	})
	return answer, err
}

func getServerConfig(*call) (any, error) {
	return &container.ServerConfig{
		DefaultClusterVersion: kubernetesVersion,
		DefaultImageType:      "COS_CONTAINERD",
		ValidImageTypes:       []string{"COS_CONTAINERD"},
		ValidMasterVersions:   []string{kubernetesVersion},
		ValidNodeVersions:     []string{kubernetesVersion},
	}, nil
}
