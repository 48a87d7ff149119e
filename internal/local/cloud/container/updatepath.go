package container

import (
	"reflect"
	"slices"
	"strings"
	"sync"

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
