package gcloud

import "google.golang.org/api/container/v1"

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
		denied: func(_ principal, permission string, on resource) *apiError {
			return permissionDenied("Required %q permission(s) for %q.", permission, on.name)
		},
		routes: []route{
			{method: "POST", pattern: all, permission: "container.clusters.create", handle: s.createCluster},
			{method: "GET", pattern: all, permission: "container.clusters.list", handle: s.listClusters},
			{method: "POST", pattern: one + ":setResourceLabels", permission: canUpdate, on: onCluster, handle: s.setResourceLabels},
			{method: "GET", pattern: one, permission: "container.clusters.get", on: onCluster, handle: s.getCluster},
			{method: "PUT", pattern: one, permission: canUpdate, on: onCluster, handle: s.updateCluster},
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

func getServerConfig(*call) (any, error) {
	return &container.ServerConfig{
		DefaultClusterVersion: kubernetesVersion,
		DefaultImageType:      "COS_CONTAINERD",
		ValidImageTypes:       []string{"COS_CONTAINERD"},
		ValidMasterVersions:   []string{kubernetesVersion},
		ValidNodeVersions:     []string{kubernetesVersion},
	}, nil
}
