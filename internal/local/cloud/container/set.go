package container

import (
	container "google.golang.org/api/container/v1beta1"

	"github.com/strata-platform/strata/internal/local/cloud/container/check"
	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// set returns the handler of a call that sets one property of a cluster. change copies the property from the request,
// of type T, to the cluster.
func set[T any](s *service, kind string, change func(*container.Cluster, *T) error) func(*api.Call) (any, error) {
	return func(c *api.Call) (any, error) {
		request := new(T)
		if err := c.Decode(request); err != nil {
			return nil, err
		}
		return s.changeFields(c, kind, func(on *cluster) error { return change(on.Cluster, request) })
	}
}

// clusterSetters returns the calls that set one property of a cluster. Each call has a verb, and another name in the
// older paths below zones.
func (s *service) clusterSetters() []setter {
	return []setter{
		{"setAddons", "addons", set(s, "UPDATE_CLUSTER", setAddons)},
		{"setLegacyAbac", "legacyAbac", set(s, "UPDATE_CLUSTER", func(k *container.Cluster, r *container.SetLegacyAbacRequest) error {
			k.LegacyAbac = &container.LegacyAbac{Enabled: r.Enabled}
			return nil
		})},
		{"setLocations", "locations", set(s, "UPDATE_CLUSTER", func(k *container.Cluster, r *container.SetLocationsRequest) error {
			if len(r.Locations) == 0 {
				return api.InvalidArgument("\"locations\" must not be empty.")
			}
			k.Locations = r.Locations
			return checkLocations(k.Location, r.Locations)
		})},
		{"setLogging", "logging", set(s, "UPDATE_CLUSTER", func(k *container.Cluster, r *container.SetLoggingServiceRequest) error {
			k.LoggingService = r.LoggingService
			return nil
		})},
		{"setMonitoring", "monitoring", set(s, "UPDATE_CLUSTER", func(k *container.Cluster, r *container.SetMonitoringServiceRequest) error {
			k.MonitoringService = r.MonitoringService
			return nil
		})},
		{"setMaintenancePolicy", ":setMaintenancePolicy", set(s, "SET_MAINTENANCE_POLICY", setMaintenancePolicy)},
		{"setNetworkPolicy", ":setNetworkPolicy", set(s, "SET_NETWORK_POLICY", func(k *container.Cluster, r *container.SetNetworkPolicyRequest) error {
			if r.NetworkPolicy == nil {
				return api.InvalidArgument("\"network_policy\" is required.")
			}
			k.NetworkPolicy = r.NetworkPolicy
			return nil
		})},
		{"setResourceLabels", "resourceLabels", set(s, "SET_LABELS", setResourceLabels)},
		{"updateMaster", "master", set(s, "UPGRADE_MASTER", func(_ *container.Cluster, r *container.UpdateMasterRequest) error {
			if r.MasterVersion == "" {
				return api.InvalidArgument("\"master_version\" is required.")
			}
			return checkVersionOf("master_version", r.MasterVersion)
		})},
	}
}

// setter is a call that sets one property. older is the end of its path below zones: a segment, or a verb with its
// colon.
type setter struct {
	verb, older string
	handle      func(*api.Call) (any, error)
}

// addonsRequest is SetAddonsConfigRequest with untyped addons. The untyped form keeps false values.
type addonsRequest struct {
	AddonsConfig                     map[string]any `json:"addonsConfig"`
	ClusterID, Name, ProjectID, Zone string
}

// setAddons changes the addons that the request names.
func setAddons(k *container.Cluster, r *addonsRequest) error {
	if r.AddonsConfig == nil {
		return api.InvalidArgument("\"addons_config\" is required.")
	}
	old, err := api.AsObject(k.AddonsConfig)
	if err != nil {
		return err
	}
	k.AddonsConfig, err = api.DecodeStrictly[container.AddonsConfig](api.MergePatch(old, r.AddonsConfig))
	return err
}

func setResourceLabels(k *container.Cluster, r *container.SetLabelsRequest) error {
	if r.LabelFingerprint != k.LabelFingerprint {
		return api.FailedPrecondition("Labels could not be set due to fingerprint mismatch; get the cluster again and retry.")
	}
	k.ResourceLabels = r.ResourceLabels
	k.LabelFingerprint = api.RandomText(6)
	return nil
}

func setMaintenancePolicy(k *container.Cluster, r *container.SetMaintenancePolicyRequest) error {
	wanted := r.MaintenancePolicy
	if wanted == nil {
		return api.InvalidArgument("\"maintenance_policy\" is required.")
	}
	if old := k.MaintenancePolicy; old != nil && wanted.ResourceVersion != "" && wanted.ResourceVersion != old.ResourceVersion {
		return api.FailedPrecondition("The maintenance policy has changed: its resource version is not %q any more; get the cluster again and retry.", wanted.ResourceVersion)
	}
	k.MaintenancePolicy = wanted
	k.MaintenancePolicy.ResourceVersion = api.RandomText(6)
	return check.Settings("", &container.Cluster{MaintenancePolicy: wanted})
}
