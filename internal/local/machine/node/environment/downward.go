package environment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/kubectl/pkg/util/resource"
)

// Loopback is the address of this machine at which processes and the node listen.
const Loopback = "127.0.0.1"

// Capacity returns the resources that the node offers to the scheduler. They limit nothing.
func Capacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              apiresource.MustParse("64"),
		corev1.ResourceMemory:           apiresource.MustParse("256Gi"),
		corev1.ResourceEphemeralStorage: apiresource.MustParse("256Gi"),
		corev1.ResourcePods:             apiresource.MustParse("1000"),
	}
}

// Field returns the value of a field of the downward API, for example of "metadata.labels['app']".
func (r Resolver) Field(path string) (string, error) {
	o := r.Pod()
	switch path {
	case "metadata.name":
		return o.Name, nil
	case "metadata.namespace":
		return o.Namespace, nil
	case "metadata.uid":
		return string(o.UID), nil
	case "metadata.labels":
		return keyValues(o.Labels), nil
	case "metadata.annotations":
		return keyValues(o.Annotations), nil
	case "spec.nodeName":
		return o.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return o.Spec.ServiceAccountName, nil
	case "status.podIP", "status.podIPs":
		return r.IP(), nil
	case "status.hostIP", "status.hostIPs":
		return r.HostIP(), nil
	}
	for prefix, values := range map[string]map[string]string{"metadata.labels['": o.Labels, "metadata.annotations['": o.Annotations} {
		if name, ok := strings.CutPrefix(path, prefix); ok {
			return values[strings.TrimSuffix(name, "']")], nil
		}
	}
	return "", fmt.Errorf("this node does not support the field %s", path)
}

// Resource returns a limit or request of a container of the pod. own is the container that the reference means if it
// names none. A volume's reference always names one; own is then nil.
func (r Resolver) Resource(ref *corev1.ResourceFieldSelector, own *corev1.Container) (string, error) {
	c := own
	if ref.ContainerName != "" {
		if c = Container(r.Pod(), ref.ContainerName); c == nil {
			return "", fmt.Errorf("the pod has no container %s", ref.ContainerName)
		}
	}
	return resource.ExtractContainerResourceValue(ref, bounded(c))
}

// bounded returns a copy of the container with its effective limits. A resource without a limit has the node's
// capacity as its limit.
func bounded(c *corev1.Container) *corev1.Container {
	c = c.DeepCopy()
	limits := Capacity()
	maps.Copy(limits, c.Resources.Limits)
	c.Resources.Limits = limits
	return c
}

// keyValues formats labels or annotations as the kubelet does: a line key="value" for each, sorted by key.
func keyValues(m map[string]string) string {
	lines := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		lines = append(lines, fmt.Sprintf("%s=%q", k, m[k]))
	}
	return strings.Join(lines, "\n")
}

// Container returns the spec of a pod's container, init container or ephemeral container, or nil if the pod has no container of that name.
func Container(pod *corev1.Pod, name string) *corev1.Container {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		if pod.Spec.EphemeralContainers[i].Name == name {
			c := corev1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
			return &c
		}
	}
	return nil
}
