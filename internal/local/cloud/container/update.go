package container

import (
	"go.etcd.io/bbolt"
	container "google.golang.org/api/container/v1beta1"

	"github.com/strata-platform/strata/internal/local/cloud/container/check"
	"github.com/strata-platform/strata/internal/local/cloud/container/update"
	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

func (s *service) updateCluster(c *api.Call) (any, error) {
	var request struct {
		Update map[string]any `json:"update"`
		// The other fields of the request name the cluster, as the path does.
		ClusterID, ProjectID, Zone, Name string
	}
	if err := c.Decode(&request); err != nil {
		return nil, err
	}
	wanted := request.Update
	// Decoding into the API's type finds unknown fields and fields of the wrong type.
	if _, err := api.DecodeStrictly[container.ClusterUpdate](wanted); err != nil {
		return nil, err
	}
	etag, _ := wanted["etag"].(string)
	delete(wanted, "etag")
	if len(wanted) == 0 {
		return nil, api.InvalidArgument("Must specify a field to update.")
	}
	return s.changeFields(c, "UPDATE_CLUSTER", func(on *cluster) error {
		if etag != "" && etag != on.Cluster.Etag {
			return api.FailedPrecondition("The etag of cluster %s is not %q any more; get the cluster again and retry.", on.Cluster.Name, etag)
		}
		return s.applyUpdate(on, wanted)
	})
}

func (s *service) applyUpdate(on *cluster, wanted map[string]any) error {
	poolID, _ := wanted["desiredNodePoolId"].(string)
	delete(wanted, "desiredNodePoolId")
	whole, err := api.AsObject(on.Cluster)
	if err != nil {
		return err
	}
	if err := checkVersionOf("desired_master_version", asText(wanted["desiredMasterVersion"])); err != nil {
		return err
	}
	inPool, err := update.Apply(whole, wanted)
	if err != nil {
		return err
	}
	changed, err := api.DecodeStrictly[container.Cluster](whole)
	if err != nil {
		return err
	}
	if err := s.completeUpdate(on, changed, wanted); err != nil {
		return err
	}
	if len(inPool) > 0 {
		return s.updatePool(on, poolID, inPool)
	}
	return nil
}

// completeUpdate checks the changed cluster and puts it in place of the old one.
func (s *service) completeUpdate(on *cluster, changed *container.Cluster, wanted map[string]any) error {
	if err := check.Settings(on.Project, changed); err != nil {
		return err
	}
	if err := checkLocations(changed.Location, changed.Locations); err != nil {
		return err
	}
	api.SetMissing(&changed.Autoscaling, container.ClusterAutoscaling{})
	api.SetMissing(&changed.MasterAuthorizedNetworksConfig, container.MasterAuthorizedNetworksConfig{})
	networks := changed.MasterAuthorizedNetworksConfig
	completeCluster(changed)
	// A cluster contains these two settings in two places.
	ip := changed.ControlPlaneEndpointsConfig.IpEndpointsConfig
	if _, ok := wanted["desiredMasterAuthorizedNetworksConfig"]; ok {
		ip.AuthorizedNetworksConfig, changed.MasterAuthorizedNetworksConfig = networks, networks
	}
	if private := changed.PrivateClusterConfig; private != nil && wanted["desiredControlPlaneEndpointsConfig"] == nil {
		ip.EnablePublicEndpoint = !private.EnablePrivateEndpoint
	}
	on.Cluster = changed
	return nil
}

// changeFields handles a call that changes fields of a cluster.
func (s *service) changeFields(c *api.Call, kind string, change func(*cluster) error) (any, error) {
	var answer *container.Operation
	err := withCluster(c, s.Store.Update, func(tx *bbolt.Tx, on *cluster) error {
		if err := on.idle(); err != nil {
			return err
		}
		if err := change(on); err != nil {
			return err
		}
		var err error
		answer, err = s.changeCluster(tx, on, kind, on.link())
		return err
	})
	return answer, err
}
