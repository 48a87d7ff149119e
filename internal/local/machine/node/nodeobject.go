package node

import (
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/environment"
)

// nodeObject returns the Node object. port is the port of the node's API.
func nodeObject(o Options, port int) *corev1.Node {
	now := metav1.NewTime(time.Now())
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: o.Name, Labels: map[string]string{
			corev1.LabelHostname:   o.Name,
			corev1.LabelOSStable:   "linux",
			corev1.LabelArchStable: runtime.GOARCH,
		}},
		// Tools read the range. The addresses come from the network itself.
		Spec: corev1.NodeSpec{PodCIDR: o.Network.Pods().String(), PodCIDRs: []string{o.Network.Pods().String()}},
		Status: corev1.NodeStatus{
			Capacity:    environment.Capacity(),
			Allocatable: environment.Capacity(),
			// Pods reach the node's ports at the gateway, because 127.0.0.1 is the pod itself. This machine reaches the node's ports
			// at 127.0.0.1, and so does the API server.
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: o.Network.Address().String()},
				{Type: corev1.NodeExternalIP, Address: environment.Loopback},
				{Type: corev1.NodeHostName, Address: o.Name},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}},
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion: o.Version, OperatingSystem: "linux", Architecture: runtime.GOARCH, ContainerRuntimeVersion: "strata://sandboxes",
			},
			Conditions: []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "NodeReady", Message: "the node accepts pods", LastHeartbeatTime: now, LastTransitionTime: now},
			},
		},
	}
}
