package container

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	sdk "github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/container"
	"google.golang.org/api/container/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

const (
	defaultPool = "default-pool"
	vpcNative   = "VPC_NATIVE"
	routes      = "ROUTES"
)

type clusterRequest = frame.Request[clusterArgs, clusterState]

var clusterIDPatterns = []*regexp.Regexp{
	regexp.MustCompile(`^projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)/clusters/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<project>[^/]+)/(?P<location>[^/]+)/(?P<name>[^/]+)$`),
	regexp.MustCompile(`^(?P<location>[^/]+)/(?P<name>[^/]+)$`),
}

// Cluster returns the resource type of clusters.
func Cluster(p *core.Provider) frame.Resource {
	g := provider{p}
	return frame.Resource{
		Args:     sdk.ClusterArgs{},
		State:    sdk.Cluster{},
		Rules:    clusterRules(),
		Identity: []string{"name", "location", "project"},
		AutoName: "name",
		Differ:   replacingSwitches,
		Operations: frame.Handle(frame.CRUD[clusterArgs, clusterState]{
			Check: func(args clusterArgs) []frame.Failure {
				if args.NodeVersion != "" && args.RemoveDefaultNodePool {
					return []frame.Failure{{Path: "nodeVersion", Reason: "nodeVersion conflicts with removeDefaultNodePool: remove one of them"}}
				}
				return nil
			},
			Create: g.createCluster,
			Read:   g.readCluster,
			Update: g.updateCluster,
			Delete: g.deleteCluster,
		}),
	}
}

// createCluster creates a cluster and, if the program asks for it, deletes the default node pool afterwards, because
// the API cannot create a cluster without one. It returns the ID with an error if the service has begun to create the
// cluster.
func (g provider) createCluster(ctx context.Context, r clusterRequest) (string, clusterState, error) {
	project, err := g.Project(r.Args.Project)
	if err != nil {
		return "", clusterState{}, err
	}
	location, err := g.Location(r.Args.Location)
	if err != nil {
		return "", clusterState{}, err
	}
	a, id, started := r.Args, clusterName(project, location, r.Args.Name), false
	err = g.clusterCall(ctx, project, location, r.Timeout, func(svc *container.Service) (*container.Operation, error) {
		parent := fmt.Sprintf("projects/%s/locations/%s", project, location)
		op, err := svc.Projects.Locations.Clusters.Create(parent, &container.CreateClusterRequest{Cluster: a.api(location)}).Context(ctx).Do()
		started = err == nil
		return op, err
	})
	if err == nil && a.RemoveDefaultNodePool {
		err = g.clusterCall(ctx, project, location, r.Timeout, func(svc *container.Service) (*container.Operation, error) {
			return svc.Projects.Locations.Clusters.NodePools.Delete(id + "/nodePools/" + defaultPool).Context(ctx).Do()
		})
	}
	partial := clusterState{clusterSpec: a.clusterSpec}
	partial.Project, partial.Location = project, location
	switch {
	case err != nil && !started:
		return "", clusterState{}, err
	case err != nil:
		return id, partial, err
	}
	live, err := g.liveCluster(ctx, project, location, a.Name, len(a.NodePools) > 0)
	if err != nil {
		return id, partial, err
	}
	return id, live, nil
}

func (g provider) readCluster(ctx context.Context, r clusterRequest) (string, clusterState, error) {
	parts, err := core.ParseID(r.ID, clusterIDPatterns)
	if err != nil {
		return "", clusterState{}, err
	}
	project, err := g.Project(parts["project"])
	if err != nil {
		return "", clusterState{}, err
	}
	state, err := g.liveCluster(ctx, project, parts["location"], parts["name"], r.Importing || len(r.Args.NodePools) > 0)
	if err == nil && r.Importing {
		protected := true
		state.DeletionProtection = &protected
	}
	return clusterName(project, parts["location"], parts["name"]), state, err
}

// liveCluster returns the current state of a cluster. If pools is true, the state includes the node pools. Programs
// with separate node pool resources do not need them in the cluster.
func (g provider) liveCluster(ctx context.Context, project, location, name string, pools bool) (clusterState, error) {
	svc, err := g.Container(ctx)
	if err != nil {
		return clusterState{}, err
	}
	// A cluster that a killed run began to create may still be provisioning, without an address.
	var c *container.Cluster
	err = core.Wait(ctx, 0, "cluster "+name, func(ctx context.Context) (bool, error) {
		c, err = svc.Projects.Locations.Clusters.Get(clusterName(project, location, name)).Context(ctx).Do()
		return err == nil && c.Status != "PROVISIONING", core.Explain(err)
	})
	if err != nil {
		return clusterState{}, err
	}
	state := clusterState{clusterSpec: specOf(c, project, location), MasterVersion: c.CurrentMasterVersion, NodePools: []poolState{}}
	if !pools {
		c.NodePools = nil
	}
	for _, p := range c.NodePools {
		pool, err := g.poolOf(ctx, p)
		if err != nil {
			return clusterState{}, err
		}
		state.NodePools = append(state.NodePools, pool)
	}
	return state, nil
}

// deleteCluster deletes a cluster unless deletionProtection is set, which only the provider enforces.
func (g provider) deleteCluster(ctx context.Context, r clusterRequest) error {
	if r.State.DeletionProtection != nil && *r.State.DeletionProtection {
		return errors.New("deletionProtection of the cluster is true: set it to false and run up, then delete the cluster")
	}
	return g.clusterCall(ctx, r.State.Project, r.State.Location, r.Timeout, func(svc *container.Service) (*container.Operation, error) {
		return svc.Projects.Locations.Clusters.Delete(r.ID).Context(ctx).Do()
	})
}
