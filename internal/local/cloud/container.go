package cloud

import (
	"strings"

	container "google.golang.org/api/container/v1beta1"
)

const (
	clusters   table = "clusters"          // <project>/<location>/<cluster>
	clusterOps table = "clusterOperations" // <project>/<location>/<operation>
)

// containerTables returns the tables of the service.
func containerTables() []table { return []table{clusters, clusterOps} }

type containerService struct {
	*Core
	clusters ClusterRuntime
}

// registerContainer adds the Kubernetes Engine API to the emulator, and what it needs of the Compute Engine API. If
// runtime is nil, clients cannot create clusters.
func registerContainer(c *Core, runtime ClusterRuntime) {
	s := &containerService{c, runtime}
	c.workloadPools = workloadPools
	c.register(s.clusterService())
	c.register(s.computeService())
}

func (s *containerService) clusterService() *service {
	svc := &service{
		name:   "container.googleapis.com",
		title:  "Kubernetes Engine API",
		prefix: "container",
		start:  s.resumeClusters,
		denied: func(_ principal, permission string, on resource) *apiError {
			return permissionDenied("Required %q permission(s) for %q.", permission, on.name)
		},
	}
	// Below locations, setters are verbs. In the older paths below zones, they are segments.
	const versions = "v1|v1beta1/projects/{project}/"
	svc.routes = append(s.containerRoutes(versions+"locations|zones/{location}"), s.setterRoutes(versions+"locations/{location}", versions+"zones/{location}")...)
	return svc
}

const canUpdate = "container.clusters.update"

func (s *containerService) containerRoutes(parent string) []route {
	var (
		all   = parent + "/clusters"
		one   = all + "/{cluster}"
		pools = one + "/nodePools"
		pool  = pools + "/{pool}"
		op    = parent + "/operations/{operation}"
	)
	return []route{
		{method: "POST", pattern: all, permission: "container.clusters.create", handle: s.createCluster},
		{method: "GET", pattern: all, permission: "container.clusters.list", handle: s.listClusters},
		{method: "GET", pattern: one, permission: "container.clusters.get", on: onCluster, handle: s.getCluster},
		{method: "PUT", pattern: one, permission: canUpdate, on: onCluster, handle: s.updateCluster},
		{method: "DELETE", pattern: one, permission: "container.clusters.delete", on: onCluster, handle: s.deleteCluster},
		{method: "POST", pattern: pools, permission: canUpdate, on: onCluster, handle: s.createNodePool},
		{method: "GET", pattern: pools, permission: "container.clusters.get", on: onCluster, handle: s.listNodePools},
		{method: "GET", pattern: pool, permission: "container.clusters.get", on: onCluster, handle: s.getNodePool},
		{method: "PUT", pattern: pool, permission: canUpdate, on: onCluster, handle: s.updateNodePool},
		{method: "DELETE", pattern: pool, permission: canUpdate, on: onCluster, handle: s.deleteNodePool},
		{method: "GET", pattern: parent + "/operations", permission: "container.operations.list", handle: s.listClusterOperations},
		{method: "GET", pattern: op, permission: "container.operations.get", handle: s.getClusterOperation},
		{method: "POST", pattern: op + ":cancel", permission: canUpdate, handle: s.cancelClusterOperation},
		{method: "GET", pattern: parent + "/serverConfig", permission: "container.clusters.list", handle: getServerConfig},
	}
}

// setterRoutes returns the routes that set one property of a cluster or of a node pool.
func (s *containerService) setterRoutes(parent, zonal string) []route {
	poolSetters := []setter{
		{"setSize", "setSize", s.setNodePoolSize},
		{"setManagement", "setManagement", s.setNodePoolManagement},
		{"setAutoscaling", "autoscaling", s.setNodePoolAutoscaling},
	}
	var routes []route
	add := func(method, pattern string, handle func(*call) (any, error)) {
		routes = append(routes, route{method: method, pattern: pattern, permission: canUpdate, on: onCluster, handle: handle})
	}
	for below, setters := range map[string][]setter{"/clusters/{cluster}": s.clusterSetters(), "/clusters/{cluster}/nodePools/{pool}": poolSetters} {
		for _, one := range setters {
			add("POST", parent+below+":"+one.verb, one.handle)
			if strings.HasPrefix(one.older, ":") {
				add("POST", zonal+below+one.older, one.handle)
				continue
			}
			add("POST", zonal+below+"/"+one.older, one.handle)
		}
	}
	add("POST", zonal+"/clusters/{cluster}/nodePools/{pool}/update", s.updateNodePool)
	return routes
}

func getServerConfig(*call) (any, error) {
	channels := make([]*container.ReleaseChannelConfig, 0, 4)
	for _, channel := range []string{"RAPID", "REGULAR", "STABLE", "EXTENDED"} {
		channels = append(channels, &container.ReleaseChannelConfig{
			Channel: channel, DefaultVersion: kubernetesVersion, ValidVersions: []string{kubernetesVersion},
		})
	}
	return &container.ServerConfig{
		Channels:              channels,
		DefaultClusterVersion: kubernetesVersion,
		DefaultImageType:      "COS_CONTAINERD",
		ValidImageTypes:       []string{"COS_CONTAINERD", "UBUNTU_CONTAINERD"},
		ValidMasterVersions:   []string{kubernetesVersion},
		ValidNodeVersions:     []string{kubernetesVersion},
	}, nil
}
