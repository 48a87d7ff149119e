package container

import (
	"go.etcd.io/bbolt"
	container "google.golang.org/api/container/v1beta1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authn"
	"github.com/strata-platform/strata/internal/local/cloud/core/store"
)

// requireActAs returns an error unless the caller has the permission iam.serviceAccounts.actAs on the service account
// of the nodes. The emulator has no default service account, so that "default" requires the permission on the project.
func (s *service) requireActAs(tx *bbolt.Tx, c *api.Call, account string) error {
	on := api.OnProject(c)
	if account != "default" {
		found, err := authn.FindAccount(tx, "-", account)
		if err != nil {
			return err
		}
		if found == nil {
			return api.InvalidArgument("Service account %q does not exist.", account)
		}
		on = api.Resource{Project: found.ProjectId, Policy: authn.AccountPolicy(found.Email)}
	}
	granted, err := s.Allowed(tx, c.Who, "iam.serviceAccounts.actAs", on)
	if err != nil || granted {
		return err
	}
	return api.InvalidArgument("The user does not have access to service account %q. Ask a project owner to grant you the "+
		"iam.serviceAccountUser role on the service account.", account)
}

// workloadPools returns the workload identity pools of a project's clusters.
func workloadPools(tx *bbolt.Tx, project string) ([]string, error) {
	all, err := store.List[cluster](tx, clusters, project+"/")
	var pools []string
	for _, k := range all {
		if identity := k.Cluster.WorkloadIdentityConfig; identity != nil {
			pools = append(pools, identity.WorkloadPool)
		}
	}
	return pools, err
}

// ClusterOf returns the cluster of a project, or nil if there is none.
func ClusterOf(tx *bbolt.Tx, project string) (*container.Cluster, error) {
	all, err := store.List[cluster](tx, clusters, project+"/")
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return all[0].Cluster, nil
}

// ControlPlane returns the cluster at a location of a project, and the access to its API server; nil if there is no such
// cluster.
func ControlPlane(tx *bbolt.Tx, project, location, name string) (*container.Cluster, Access, error) {
	found, err := store.Get[cluster](tx, clusters, clusterKey(project, location, name))
	if err != nil || found == nil {
		return nil, Access{}, err
	}
	return found.Cluster, found.Access, nil
}
