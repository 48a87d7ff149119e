package container

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"go.etcd.io/bbolt"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// The emulator has one call of Compute Engine. Kubernetes Engine does not report the number of nodes in a node pool, so
// that clients read the number from the instance groups of the pool.

func (s *service) computeService() *api.Service {
	const group = "v1|beta/projects/{project}/zones/{zone}/instanceGroupManagers/{group}"
	return &api.Service{
		Name:       "compute.googleapis.com",
		Title:      "Compute Engine API",
		Prefix:     "compute",
		HostPath:   func(escaped string) string { return escaped }, // its first segment is the prefix there, too
		Scopes:     []string{"https://www.googleapis.com/auth/compute"},
		ReadScopes: []string{"https://www.googleapis.com/auth/compute.readonly", "https://www.googleapis.com/auth/cloud-platform.read-only"},
		Denied: func(_ api.Principal, permission string, on api.Resource) *api.Error {
			return api.NewError(http.StatusForbidden, "", "forbidden", "Required '%s' permission for '%s'", permission, on.Name)
		},
		Routes: []api.Route{
			{Method: "GET", Pattern: group, Permission: "compute.instanceGroupManagers.get", On: onGroup, Handle: s.getGroup},
		},
	}
}

func onGroup(c *api.Call) api.Resource {
	return api.Resource{Project: c.ProjectID(), Name: "projects/" + c.ProjectID() + "/zones/" + c.Vars["zone"] + "/instanceGroupManagers/" + c.Vars["group"]}
}

// groupName returns the name of a node pool's instance group in a zone.
func groupName(on *cluster, pool, zone string) string {
	sum := sha256.Sum256([]byte(clusterName(on.Project, on.Cluster.Location, on.Cluster.Name) + "/nodePools/" + pool + "/" + zone))
	short := func(name string) string { return strings.TrimRight(name[:min(len(name), 20)], "-") }
	return "gke-" + short(on.Cluster.Name) + "-" + short(pool) + "-" + hex.EncodeToString(sum[:4]) + "-grp"
}

func (s *service) groupLink(on *cluster, pool, zone string) string {
	return s.BaseURL + "/compute/v1/projects/" + on.Project + "/zones/" + zone + "/instanceGroupManagers/" + groupName(on, pool, zone)
}

// instanceGroupManager is the emulated part of an instance group manager.
type instanceGroupManager struct {
	Kind             string `json:"kind"`
	Name             string `json:"name"`
	BaseInstanceName string `json:"baseInstanceName"`
	Zone             string `json:"zone"`
	TargetSize       int64  `json:"targetSize"`
	InstanceGroup    string `json:"instanceGroup"`
	SelfLink         string `json:"selfLink"`
}

func (s *service) getGroup(c *api.Call) (any, error) {
	if c.Project == nil {
		return nil, api.NotFound("The resource '%s' was not found", onGroup(c).Name)
	}
	zone, name := c.Vars["zone"], c.Vars["group"]
	link := s.BaseURL + "/compute/v1/projects/" + c.Project.ID + "/zones/" + zone
	answer := &instanceGroupManager{
		Kind: "compute#instanceGroupManager", Name: name, BaseInstanceName: strings.TrimSuffix(name, "-grp"), Zone: link, TargetSize: -1,
		InstanceGroup: link + "/instanceGroups/" + name, SelfLink: link + "/instanceGroupManagers/" + name,
	}
	err := s.Store.View(func(tx *bbolt.Tx) error {
		return store.Each(tx, clusters, c.Project.ID+"/", func(_ string, on *cluster) error {
			for _, pool := range on.Cluster.NodePools {
				if slices.Contains(pool.InstanceGroupUrls, answer.SelfLink) {
					answer.TargetSize = pool.InitialNodeCount
				}
			}
			return nil
		})
	})
	if err == nil && answer.TargetSize < 0 {
		err = api.NotFound("The resource '%s' was not found", onGroup(c).Name)
	}
	return answer, err
}
