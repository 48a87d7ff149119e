// Package container emulates the Kubernetes Engine API. A cluster is a real control plane, which a Runtime runs.
package container

import (
	"strings"

	container "google.golang.org/api/container/v1beta1"

	"github.com/strata-platform/strata/internal/local/cloud/core"
	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

const (
	clusters   store.Table = "clusters"          // <project>/<location>/<cluster>
	clusterOps store.Table = "clusterOperations" // <project>/<location>/<operation>
)

// Tables returns the tables of the service.
func Tables() []store.Table { return []store.Table{clusters, clusterOps} }

// service handles the calls about clusters, node pools and instance groups.
type service struct {
	*core.Core
	clusters Runtime
}

// Register adds the Kubernetes Engine API to the emulator, and the call of the Compute Engine API that its clients
// need. If runtime is nil, clients cannot create clusters.
func Register(c *core.Core, runtime Runtime) {
	s := &service{c, runtime}
	c.WorkloadPools = workloadPools
	c.Register(s.clusterService())
	c.Register(s.computeService())
}

func (s *service) clusterService() *api.Service {
	svc := &api.Service{
		Name:   "container.googleapis.com",
		Title:  "Kubernetes Engine API",
		Prefix: "container",
		Start:  s.resumeClusters,
		Denied: func(_ api.Principal, permission string, on api.Resource) *api.Error {
			return api.PermissionDenied("Required %q permission(s) for %q.", permission, on.Name)
		},
	}
	// In paths below locations, setters are verbs. In the older paths below zones, they are segments.
	const versions = "v1|v1beta1/projects/{project}/"
	svc.Routes = append(s.containerRoutes(versions+"locations|zones/{location}"), s.setterRoutes(versions+"locations/{location}", versions+"zones/{location}")...)
	return svc
}

const canUpdate = "container.clusters.update"

func (s *service) containerRoutes(parent string) []api.Route {
	var (
		all   = parent + "/clusters"
		one   = all + "/{cluster}"
		pools = one + "/nodePools"
		pool  = pools + "/{pool}"
		op    = parent + "/operations/{operation}"
	)
	return []api.Route{
		{Method: "POST", Pattern: all, Permission: "container.clusters.create", Handle: s.createCluster},
		{Method: "GET", Pattern: all, Permission: "container.clusters.list", Handle: s.listClusters},
		{Method: "GET", Pattern: one, Permission: "container.clusters.get", On: onCluster, Handle: s.getCluster},
		{Method: "PUT", Pattern: one, Permission: canUpdate, On: onCluster, Handle: s.updateCluster},
		{Method: "DELETE", Pattern: one, Permission: "container.clusters.delete", On: onCluster, Handle: s.deleteCluster},
		{Method: "POST", Pattern: pools, Permission: canUpdate, On: onCluster, Handle: s.createNodePool},
		{Method: "GET", Pattern: pools, Permission: "container.clusters.get", On: onCluster, Handle: s.listNodePools},
		{Method: "GET", Pattern: pool, Permission: "container.clusters.get", On: onCluster, Handle: s.getNodePool},
		{Method: "PUT", Pattern: pool, Permission: canUpdate, On: onCluster, Handle: s.updateNodePool},
		{Method: "DELETE", Pattern: pool, Permission: canUpdate, On: onCluster, Handle: s.deleteNodePool},
		{Method: "GET", Pattern: parent + "/operations", Permission: "container.operations.list", Handle: s.listClusterOperations},
		{Method: "GET", Pattern: op, Permission: "container.operations.get", Handle: s.getClusterOperation},
		{Method: "POST", Pattern: op + ":cancel", Permission: canUpdate, Handle: s.cancelClusterOperation},
		{Method: "GET", Pattern: parent + "/serverConfig", Permission: "container.clusters.list", Handle: getServerConfig},
	}
}

// setterRoutes returns the routes that set one property of a cluster or of a node pool.
func (s *service) setterRoutes(parent, zonal string) []api.Route {
	poolSetters := []setter{
		{"setSize", "setSize", s.setNodePoolSize},
		{"setManagement", "setManagement", s.setNodePoolManagement},
		{"setAutoscaling", "autoscaling", s.setNodePoolAutoscaling},
	}
	var routes []api.Route
	add := func(method, pattern string, handle func(*api.Call) (any, error)) {
		routes = append(routes, api.Route{Method: method, Pattern: pattern, Permission: canUpdate, On: onCluster, Handle: handle})
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

// getServerConfig returns the versions that clusters can have. The providers read them before they create a cluster.
func getServerConfig(*api.Call) (any, error) {
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
