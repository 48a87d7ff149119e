package cloud

import (
	"go.etcd.io/bbolt"
)

// requireActAs refuses a call that runs nodes as a service account on which the caller lacks
// iam.serviceAccounts.actAs. The emulator has no default service account, so "default" needs the permission on the
// project.
func (s *containerService) requireActAs(tx *bbolt.Tx, c *call, account string) error {
	on := onProject(c)
	if account != "default" {
		found, err := findAccount(tx, "-", account)
		if err != nil {
			return err
		}
		if found == nil {
			return invalidArgument("Service account %q does not exist.", account)
		}
		on = resource{project: found.ProjectId, policy: accountPolicy(found.Email)}
	}
	granted, err := s.allowed(tx, c.who, "iam.serviceAccounts.actAs", on)
	if err != nil || granted {
		return err
	}
	return invalidArgument("The user does not have access to service account %q. Ask a project owner to grant you the "+
		"iam.serviceAccountUser role on the service account.", account)
}

// workloadPools returns the workload identity pools of a project's clusters.
func workloadPools(tx *bbolt.Tx, project string) ([]string, error) {
	all, err := list[cluster](tx, clusters, project+"/")
	var pools []string
	for _, k := range all {
		if identity := k.Cluster.WorkloadIdentityConfig; identity != nil {
			pools = append(pools, identity.WorkloadPool)
		}
	}
	return pools, err
}
