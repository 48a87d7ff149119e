// Package update maps the fields of an update of a cluster to fields of the cluster and of a node pool.
package update

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	container "google.golang.org/api/container/v1beta1"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
)

// paths maps the fields of an update to paths in a cluster. A field "desiredX" maps to "x" unless the list below
// contains it. An update with a field that has no path fails. None of the fields affects the running control plane.
var paths = sync.OnceValue(func() map[string]string {
	all := map[string]string{
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
	cluster := Fields(reflect.TypeFor[container.Cluster]())
	for _, name := range Fields(reflect.TypeFor[container.ClusterUpdate]()) {
		plain := name
		if rest, ok := strings.CutPrefix(name, "desired"); ok {
			plain = strings.ToLower(rest[:1]) + rest[1:]
		}
		if all[name] == "" && slices.Contains(cluster, plain) {
			all[name] = plain
		}
	}
	// These two fields belong to the call, not to the cluster. A client cannot choose the address of the control
	// plane.
	for _, name := range []string{"etag", "desiredMaster"} {
		delete(all, name)
	}
	return all
})

// poolFields are the fields of an update that change a node pool. The update's desiredNodePoolId names the pool.
var poolFields = map[string]string{
	"desiredImageType":           "config.imageType",
	"desiredNodePoolAutoscaling": "autoscaling",
	"desiredNodeVersion":         "version",
}

// switches are the settings that are objects in an update but booleans in a cluster.
var switches = []string{"desiredIntraNodeVisibilityConfig", "desiredL4ilbSubsettingConfig"}

// removable are the settings that an update removes if it sets all of their fields to empty values.
var removable = []string{"desiredFleet", "desiredResourceUsageExportConfig", "desiredWorkloadIdentityConfig"}

// Apply sets the settings of an update in a cluster, both as JSON objects. It returns the settings of the update's node
// pool. It does not set the version of the control plane: all clusters have the same.
func Apply(whole, wanted map[string]any) (pool map[string]any, err error) {
	pool = map[string]any{}
	for name, value := range wanted {
		switch path := paths()[name]; {
		case poolFields[name] != "":
			SetPath(pool, poolFields[name], value)
		case name == "desiredMasterVersion":
		case path == "":
			return nil, api.InvalidArgument("The update of %s is not emulated.", name)
		default:
			SetPath(whole, path, updated(name, value, getPath(whole, path)))
		}
	}
	return pool, nil
}

// updated returns the new value of a setting from the value in the update and the old value.
func updated(name string, value, old any) any {
	object, _ := value.(map[string]any)
	was, _ := old.(map[string]any)
	switch {
	case slices.Contains(switches, name):
		return object["enabled"]
	case slices.Contains(removable, name) && isEmpty(value):
		return nil
	case name == "desiredAddonsConfig", name == "desiredControlPlaneEndpointsConfig":
		// The update keeps the parts that it does not contain.
		if was == nil {
			was = map[string]any{}
		}
		return api.MergePatch(was, object)
	case name == "desiredK8sBetaApis":
		// An update cannot turn an API off.
		apis, _ := was["enabledApis"].([]any)
		more, _ := object["enabledApis"].([]any)
		return map[string]any{"enabledApis": append(apis, more...)}
	}
	return value
}

// isEmpty reports whether a JSON value is empty, or contains only empty values.
func isEmpty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, field := range value {
			if !isEmpty(field) {
				return false
			}
		}
		return true
	case []any:
		return len(value) == 0
	}
	return value == nil || value == "" || value == false || value == float64(0)
}

// SetPath sets the field of a JSON object at a path. A nil value removes the field.
func SetPath(whole map[string]any, path string, value any) {
	first, rest, deeper := strings.Cut(path, ".")
	switch {
	case deeper:
		inner, ok := whole[first].(map[string]any)
		if !ok {
			inner = map[string]any{}
			whole[first] = inner
		}
		SetPath(inner, rest, value)
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

// Fields returns the JSON names of a struct type's fields.
func Fields(of reflect.Type) []string {
	var names []string
	for field := range of.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}
