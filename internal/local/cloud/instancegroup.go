package cloud

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"go.etcd.io/bbolt"
)

// The emulator has one call of Compute Engine. Google Kubernetes Engine does not report the number of nodes in a node
// pool, so clients read it from the pool's instance groups.

func (s *containerService) computeService() *service {
	const group = "v1|beta/projects/{project}/zones/{zone}/instanceGroupManagers/{group}"
	return &service{
		name:       "compute.googleapis.com",
		title:      "Compute Engine API",
		prefix:     "compute",
		hostPath:   func(escaped string) string { return escaped }, // its first segment is the prefix there, too
		scopes:     []string{"https://www.googleapis.com/auth/compute"},
		readScopes: []string{"https://www.googleapis.com/auth/compute.readonly", "https://www.googleapis.com/auth/cloud-platform.read-only"},
		denied: func(_ principal, permission string, on resource) *apiError {
			return newError(http.StatusForbidden, "", "forbidden", "Required '%s' permission for '%s'", permission, on.name)
		},
		routes: []route{
			{method: "GET", pattern: group, permission: "compute.instanceGroupManagers.get", on: onGroup, handle: s.getGroup},
		},
	}
}

func onGroup(c *call) resource {
	return resource{project: c.projectID(), name: "projects/" + c.projectID() + "/zones/" + c.vars["zone"] + "/instanceGroupManagers/" + c.vars["group"]}
}

// groupName returns the name of a node pool's instance group in a zone.
func groupName(on *cluster, pool, zone string) string {
	sum := sha256.Sum256([]byte(poolLink(on, pool) + "/" + zone))
	short := func(name string) string { return strings.TrimRight(name[:min(len(name), 20)], "-") }
	return "gke-" + short(on.Cluster.Name) + "-" + short(pool) + "-" + hex.EncodeToString(sum[:4]) + "-grp"
}

func (s *containerService) groupLink(on *cluster, pool, zone string) string {
	return s.baseURL + "/compute/v1/projects/" + on.Project + "/zones/" + zone + "/instanceGroupManagers/" + groupName(on, pool, zone)
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

func (s *containerService) getGroup(c *call) (any, error) {
	if c.project == nil {
		return nil, notFound("The resource '%s' was not found", onGroup(c).name)
	}
	zone, name := c.vars["zone"], c.vars["group"]
	link := s.baseURL + "/compute/v1/projects/" + c.project.ID + "/zones/" + zone
	answer := &instanceGroupManager{
		Kind: "compute#instanceGroupManager", Name: name, BaseInstanceName: strings.TrimSuffix(name, "-grp"), Zone: link, TargetSize: -1,
		InstanceGroup: link + "/instanceGroups/" + name, SelfLink: link + "/instanceGroupManagers/" + name,
	}
	err := s.store.view(func(tx *bbolt.Tx) error {
		return each(tx, clusters, c.project.ID+"/", func(_ string, on *cluster) error {
			for _, pool := range on.Cluster.NodePools {
				if slices.Contains(pool.InstanceGroupUrls, answer.SelfLink) {
					answer.TargetSize = pool.InitialNodeCount
				}
			}
			return nil
		})
	})
	if err == nil && answer.TargetSize < 0 {
		err = notFound("The resource '%s' was not found", onGroup(c).name)
	}
	return answer, err
}
