package cloud

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"go.etcd.io/bbolt"
	container "google.golang.org/api/container/v1beta1"
)

// updatePaths maps the fields of an update to paths in a cluster. A field "desiredX" maps to "x" unless the list below
// says otherwise. An update refuses a field without a path. None of the fields affects the running control plane.
var updatePaths = sync.OnceValue(func() map[string]string {
	paths := map[string]string{
		"desiredAutoIpamConfig":                        "ipAllocationPolicy.autoIpamConfig",
		"desiredAutopilotClusterPolicyConfig":          "autopilot.clusterPolicyConfig",
		"desiredAutopilotWorkloadPolicyConfig":         "autopilot.workloadPolicyConfig",
		"desiredClusterAutoscaling":                    "autoscaling",
		"desiredContainerdConfig":                      "nodePoolDefaults.nodeConfigDefaults.containerdConfig",
		"desiredDatapathProvider":                      "networkConfig.datapathProvider",
		"desiredDefaultEnablePrivateNodes":             "networkConfig.defaultEnablePrivateNodes",
		"desiredDefaultSnatStatus":                     "networkConfig.defaultSnatStatus",
		"desiredDisableL4LbFirewallReconciliation":     "networkConfig.disableL4LbFirewallReconciliation",
		"desiredDnsConfig":                             "networkConfig.dnsConfig",
		"desiredEnableCiliumClusterwideNetworkPolicy":  "networkConfig.enableCiliumClusterwideNetworkPolicy",
		"desiredEnableFqdnNetworkPolicy":               "networkConfig.enableFqdnNetworkPolicy",
		"desiredEnableMultiNetworking":                 "networkConfig.enableMultiNetworking",
		"desiredEnablePrivateEndpoint":                 "privateClusterConfig.enablePrivateEndpoint",
		"desiredGatewayApiConfig":                      "networkConfig.gatewayApiConfig",
		"desiredGcfsConfig":                            "nodePoolDefaults.nodeConfigDefaults.gcfsConfig",
		"desiredHostMaintenancePolicy":                 "nodePoolDefaults.nodeConfigDefaults.hostMaintenancePolicy",
		"desiredInTransitEncryptionConfig":             "networkConfig.inTransitEncryptionConfig",
		"desiredIntraNodeVisibilityConfig":             "networkConfig.enableIntraNodeVisibility",
		"desiredK8sBetaApis":                           "enableK8sBetaApis",
		"desiredL4ilbSubsettingConfig":                 "networkConfig.enableL4ilbSubsetting",
		"desiredNetworkPerformanceConfig":              "networkConfig.networkPerformanceConfig",
		"desiredNetworkTierConfig":                     "ipAllocationPolicy.networkTierConfig",
		"desiredNodeKubeletConfig":                     "nodePoolDefaults.nodeConfigDefaults.nodeKubeletConfig",
		"desiredNodePoolAutoConfigKubeletConfig":       "nodePoolAutoConfig.nodeKubeletConfig",
		"desiredNodePoolAutoConfigLinuxNodeConfig":     "nodePoolAutoConfig.linuxNodeConfig",
		"desiredNodePoolAutoConfigNetworkTags":         "nodePoolAutoConfig.networkTags",
		"desiredNodePoolAutoConfigResourceManagerTags": "nodePoolAutoConfig.resourceManagerTags",
		"desiredNodePoolLoggingConfig":                 "nodePoolDefaults.nodeConfigDefaults.loggingConfig",
		"desiredPrivateIpv6GoogleAccess":               "networkConfig.privateIpv6GoogleAccess",
		"desiredServiceExternalIpsConfig":              "networkConfig.serviceExternalIpsConfig",
		"desiredStackType":                             "ipAllocationPolicy.stackType",
	}
	cluster := jsonFields(reflect.TypeFor[container.Cluster]())
	for _, name := range jsonFields(reflect.TypeFor[container.ClusterUpdate]()) {
		plain := name
		if rest, ok := strings.CutPrefix(name, "desired"); ok {
			plain = strings.ToLower(rest[:1]) + rest[1:]
		}
		if paths[name] == "" && slices.Contains(cluster, plain) {
			paths[name] = plain
		}
	}
	// These two fields belong to the call, not to the cluster. A client cannot choose the address of the control
	// plane.
	for _, name := range []string{"etag", "desiredMaster"} {
		delete(paths, name)
	}
	return paths
})

// poolFields are the fields of an update that change a node pool. The update's desiredNodePoolId names the pool.
var poolFields = map[string]string{
	"desiredImageType":           "config.imageType",
	"desiredNodePoolAutoscaling": "autoscaling",
	"desiredNodeVersion":         "version",
}

// switches are the settings that are an object in an update and a boolean in a cluster.
var switches = []string{"desiredIntraNodeVisibilityConfig", "desiredL4ilbSubsettingConfig"}

// removable are the settings that an update removes by emptying all of their fields.
var removable = []string{"desiredFleet", "desiredResourceUsageExportConfig", "desiredWorkloadIdentityConfig"}

// jsonFields returns the JSON names of a struct type's fields.
func jsonFields(of reflect.Type) []string {
	var names []string
	for field := range of.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func (s *Server) updateCluster(c *call) (any, error) {
	var request struct {
		Update map[string]any `json:"update"`
		// The other fields of the request name the cluster, as the path does.
		ClusterID, ProjectID, Zone, Name string
	}
	if err := c.decode(&request); err != nil {
		return nil, err
	}
	wanted := request.Update
	// Decoding into the API's type finds unknown fields and fields of the wrong type.
	if _, err := decodeStrictly[container.ClusterUpdate](wanted); err != nil {
		return nil, err
	}
	etag, _ := wanted["etag"].(string)
	delete(wanted, "etag")
	if len(wanted) == 0 {
		return nil, invalidArgument("Must specify a field to update.")
	}
	return s.changeFields(c, "UPDATE_CLUSTER", func(on *cluster) error {
		if etag != "" && etag != on.Cluster.Etag {
			return failedPrecondition("The etag of cluster %s is not %q any more; get the cluster again and retry.", on.Cluster.Name, etag)
		}
		return s.applyUpdate(on, wanted)
	})
}

func (s *Server) applyUpdate(on *cluster, wanted map[string]any) error {
	poolID, _ := wanted["desiredNodePoolId"].(string)
	delete(wanted, "desiredNodePoolId")
	whole, err := asObject(on.Cluster)
	if err != nil {
		return err
	}
	inPool := map[string]any{}
	for name, value := range wanted {
		switch path := updatePaths()[name]; {
		case poolFields[name] != "":
			setPath(inPool, poolFields[name], value)
		case name == "desiredMasterVersion":
			if err := checkVersionOf("desired_master_version", asText(value)); err != nil {
				return err
			}
		case path == "":
			return invalidArgument("The update of %s is not emulated.", name)
		default:
			setPath(whole, path, updated(name, value, getPath(whole, path)))
		}
	}
	changed, err := decodeStrictly[container.Cluster](whole)
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

// updated returns the new value of a setting from the value in the update and the old value.
func updated(name string, value, old any) any {
	object, _ := value.(map[string]any)
	was, _ := old.(map[string]any)
	switch {
	case slices.Contains(switches, name):
		return object["enabled"]
	case slices.Contains(removable, name) && isNothing(value):
		return nil
	case name == "desiredAddonsConfig", name == "desiredControlPlaneEndpointsConfig":
		// The update keeps the parts that it does not name.
		if was == nil {
			was = map[string]any{}
		}
		return mergePatch(was, object)
	case name == "desiredK8sBetaApis":
		// An update cannot turn an API off.
		apis, _ := was["enabledApis"].([]any)
		more, _ := object["enabledApis"].([]any)
		return map[string]any{"enabledApis": append(apis, more...)}
	}
	return value
}

// completeUpdate checks the changed cluster and puts it in place of the old one.
func (s *Server) completeUpdate(on *cluster, changed *container.Cluster, wanted map[string]any) error {
	if err := checkClusterSettings(on.Project, changed); err != nil {
		return err
	}
	if err := checkLocations(changed.Location, changed.Locations); err != nil {
		return err
	}
	setMissing(&changed.Autoscaling, container.ClusterAutoscaling{})
	setMissing(&changed.MasterAuthorizedNetworksConfig, container.MasterAuthorizedNetworksConfig{})
	networks := changed.MasterAuthorizedNetworksConfig
	completeCluster(changed)
	// The cluster holds these two settings twice.
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

// isNothing reports whether a JSON value is empty, or holds only empty values.
func isNothing(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, field := range value {
			if !isNothing(field) {
				return false
			}
		}
		return true
	case []any:
		return len(value) == 0
	}
	return value == nil || value == "" || value == false || value == float64(0)
}

func asText(value any) string {
	text, _ := value.(string)
	return text
}

// setPath sets the field of a JSON object at a path. A nil value removes the field.
func setPath(whole map[string]any, path string, value any) {
	first, rest, deeper := strings.Cut(path, ".")
	switch {
	case deeper:
		inner, ok := whole[first].(map[string]any)
		if !ok {
			inner = map[string]any{}
			whole[first] = inner
		}
		setPath(inner, rest, value)
	case value == nil:
		delete(whole, first)
	default:
		whole[first] = value
	}
}

func getPath(whole map[string]any, path string) any {
	first, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		return whole[first]
	}
	inner, _ := whole[first].(map[string]any)
	return getPath(inner, rest)
}

// changeFields answers a call that changes fields of a cluster.
func (s *Server) changeFields(c *call, kind string, change func(*cluster) error) (any, error) {
	var answer *container.Operation
	err := withCluster(c, s.store.update, func(tx *bbolt.Tx, on *cluster) error {
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
