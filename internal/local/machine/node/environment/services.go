package environment

import (
	"context"
	"fmt"
	"maps"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// WithServices is Variables with the variables of Services (Kubernetes, "Service": "Discovering services"). A container
// sees the Services of its namespace that exist when it starts, unless its pod sets enableServiceLinks to false, and
// always the Service kubernetes of the namespace default. Its own variables override them, and may refer to them.
func (r Resolver) WithServices(ctx context.Context, c *corev1.Container) (map[string]string, error) {
	services, err := r.Services()
	if err != nil {
		return nil, fmt.Errorf("list the Services of the pod's namespace: %w", err)
	}
	env := serviceVariables(services, r.Pod())
	own, err := r.variables(ctx, c, env)
	if err != nil {
		return nil, err
	}
	maps.Copy(env, own)
	return env, nil
}

// master is the Service of the API server.
const master = "kubernetes"

// serviceVariables returns the variables of the Services for a pod. A Service of the pod's namespace precedes the Service
// kubernetes.
func serviceVariables(services []*corev1.Service, pod *corev1.Pod) map[string]string {
	env, own := map[string]string{}, map[string]string{}
	for _, s := range services {
		// Headless Services and ExternalNames have no address.
		if s.Spec.ClusterIP == "" || s.Spec.ClusterIP == corev1.ClusterIPNone || len(s.Spec.Ports) == 0 {
			continue
		}
		if s.Namespace == metav1.NamespaceDefault && s.Name == master {
			addService(env, s)
		}
		if s.Namespace == pod.Namespace && ptr.Deref(pod.Spec.EnableServiceLinks, true) {
			addService(own, s)
		}
	}
	maps.Copy(env, own)
	return env
}

// addService adds the variables of one Service: those of Kubernetes, and those of Docker's links.
func addService(env map[string]string, s *corev1.Service) {
	name, host := upper(s.Name), s.Spec.ClusterIP
	env[name+"_SERVICE_HOST"] = host
	env[name+"_SERVICE_PORT"] = strconv.Itoa(int(s.Spec.Ports[0].Port))
	for i, p := range s.Spec.Ports {
		number, protocol := strconv.Itoa(int(p.Port)), string(p.Protocol)
		if protocol == "" {
			protocol = string(corev1.ProtocolTCP)
		}
		if p.Name != "" {
			env[name+"_SERVICE_PORT_"+upper(p.Name)] = number
		}
		url := strings.ToLower(protocol) + "://" + net.JoinHostPort(host, number)
		if i == 0 {
			env[name+"_PORT"] = url
		}
		prefix := name + "_PORT_" + number + "_" + strings.ToUpper(protocol)
		env[prefix], env[prefix+"_PROTO"], env[prefix+"_PORT"], env[prefix+"_ADDR"] = url, strings.ToLower(protocol), number, host
	}
}

// upper returns a name in the form in which variables contain it.
func upper(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }
