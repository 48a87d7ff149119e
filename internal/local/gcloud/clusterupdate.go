package gcloud

import (
	"encoding/json"

	"go.etcd.io/bbolt"
	"google.golang.org/api/container/v1"
)

// clusterFields are the fields of a cluster that an update may set, by their name in the update.
func clusterFields() map[string]string {
	return map[string]string{
		"desiredAddonsConfig":                   "addonsConfig",
		"desiredBinaryAuthorization":            "binaryAuthorization",
		"desiredCostManagementConfig":           "costManagementConfig",
		"desiredLocations":                      "locations",
		"desiredLoggingConfig":                  "loggingConfig",
		"desiredLoggingService":                 "loggingService",
		"desiredMasterAuthorizedNetworksConfig": "masterAuthorizedNetworksConfig",
		"desiredMonitoringConfig":               "monitoringConfig",
		"desiredMonitoringService":              "monitoringService",
		"desiredNotificationConfig":             "notificationConfig",
		"desiredReleaseChannel":                 "releaseChannel",
		"desiredSecurityPostureConfig":          "securityPostureConfig",
		"desiredShieldedNodes":                  "shieldedNodes",
		"desiredVerticalPodAutoscaling":         "verticalPodAutoscaling",
		"desiredWorkloadIdentityConfig":         "workloadIdentityConfig",
	}
}

// updateCluster sets fields of a cluster. None of them changes the control plane that runs.
func (s *Server) updateCluster(c *call) (any, error) {
	var request container.UpdateClusterRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	if request.Update == nil {
		return nil, invalidArgument("Must specify a field to update.")
	}
	wanted, err := asMap(request.Update)
	if err != nil {
		return nil, err
	}
	if len(wanted) == 0 {
		return nil, invalidArgument("Must specify a field to update.")
	}
	return s.changeFields(c, func(on *cluster) error {
		old, err := asMap(on.Cluster)
		if err != nil {
			return err
		}
		fields := clusterFields()
		for name, value := range wanted {
			field, ok := fields[name]
			if !ok {
				return invalidArgument("The update of %s is not emulated.", name)
			}
			old[field] = value
		}
		data, err := json.Marshal(old)
		if err != nil {
			return err
		}
		changed := &container.Cluster{}
		if err := json.Unmarshal(data, changed); err != nil {
			return err
		}
		on.Cluster = changed
		return nil
	})
}

func asMap(value any) (map[string]json.RawMessage, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	return fields, json.Unmarshal(data, &fields)
}

func (s *Server) setResourceLabels(c *call) (any, error) {
	var request container.SetLabelsRequest
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	return s.changeFields(c, func(on *cluster) error {
		if request.LabelFingerprint != on.Cluster.LabelFingerprint {
			return failedPrecondition("Labels could not be set due to fingerprint mismatch; get the cluster again and retry.")
		}
		on.Cluster.ResourceLabels = request.ResourceLabels
		on.Cluster.LabelFingerprint = randomText(6)
		return nil
	})
}

// changeFields answers a call that changes fields of the cluster that the path names.
func (s *Server) changeFields(c *call, change func(*cluster) error) (any, error) {
	var answer *container.Operation
	err := withCluster(c, s.store.update, func(tx *bbolt.Tx, on *cluster) error {
		if err := requireIdle(tx, on); err != nil {
			return err
		}
		if err := change(on); err != nil {
			return err
		}
		var err error
		answer, err = s.changeCluster(tx, on, "UPDATE_CLUSTER", on.link())
		return err
	})
	return answer, err
}
