// Package forward connects a loopback port of this machine with a Service or a pod of a cluster, by the port-forward of the
// Kubernetes API, so that it works the same on every target.
package forward

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// These are the kinds of a Target.
const (
	KindService = "Service"
	KindPod     = "Pod"
)

// Target is a port of a Service or of a pod.
type Target struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Port is the number of the port, and PortName its name. A port of a pod may have no name.
	Port     int32  `json:"port"`
	PortName string `json:"portName,omitempty"`
	// Scheme is https for a port of that name, application protocol or number, and otherwise http.
	Scheme string `json:"-"`
	// Address is the HOST:PORT at which this machine serves the port of a Service that declares it as a page, on the local
	// target. It is empty otherwise.
	Address string `json:"-"`
}

// String returns the target as kubectl writes it.
func (t Target) String() string {
	return fmt.Sprintf("%s/%s in namespace %s", strings.ToLower(t.Kind), t.Name, t.Namespace)
}

// Find returns the Service of a name in some namespaces, and if there is none, the pod of that name. A name such as svc/x or
// pod/x gives the kind. wanted is the number or the name of a port, or empty for the only port, the port http or the first port.
// The error of a name that several namespaces have lists them.
func Find(ctx context.Context, client kubernetes.Interface, namespaces []string, name, wanted string) (Target, error) {
	kinds := []string{KindService, KindPod}
	if prefix, rest, ok := strings.Cut(name, "/"); ok {
		kind, known := map[string]string{"svc": KindService, "service": KindService, "services": KindService, "po": KindPod, "pod": KindPod, "pods": KindPod}[strings.ToLower(prefix)]
		if !known {
			return Target{}, fmt.Errorf("%q is neither a Service nor a pod: write svc/NAME or pod/NAME", name)
		}
		kinds, name = []string{kind}, rest
	}
	for _, kind := range kinds {
		found := map[string]*candidate{}
		for _, namespace := range namespaces {
			c, err := read(ctx, client, kind, namespace, name)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return Target{}, fmt.Errorf("find %s in namespace %s: %w", name, namespace, err)
			}
			found[namespace] = c
		}
		if len(found) > 1 {
			return Target{}, fmt.Errorf("%s %s exists in the namespaces %s: choose one of the teams with --team", kind, name, strings.Join(slices.Sorted(maps.Keys(found)), ", "))
		}
		for _, c := range found {
			if err := c.choose(c.ports, wanted); err != nil {
				return c.Target, err
			}
			return c.at(ctx, client)
		}
	}
	return Target{}, missing(ctx, client, namespaces, name)
}

// candidate is a Service or a pod with its TCP ports.
type candidate struct {
	Target
	ports []corev1.ServicePort
	// page is the name or the number of the port that a Service declares as its page.
	page string
}

// read returns the Service or the pod of a name.
func read(ctx context.Context, client kubernetes.Interface, kind, namespace, name string) (*candidate, error) {
	if kind == KindService {
		service, err := client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		return ofService(service), nil
	}
	pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	c := &candidate{Target: Target{Kind: kind, Namespace: namespace, Name: name}}
	for _, container := range pod.Spec.Containers {
		for _, p := range container.Ports {
			if isTCP(p.Protocol) {
				c.ports = append(c.ports, corev1.ServicePort{Name: p.Name, Port: p.ContainerPort})
			}
		}
	}
	return c, nil
}

func ofService(s *corev1.Service) *candidate {
	return &candidate{
		Target: Target{Kind: KindService, Namespace: s.Namespace, Name: s.Name},
		ports:  slices.DeleteFunc(slices.Clone(s.Spec.Ports), func(p corev1.ServicePort) bool { return !isTCP(p.Protocol) }),
		page:   s.Annotations[PageAnnotation],
	}
}

func isTCP(p corev1.Protocol) bool { return p == "" || p == corev1.ProtocolTCP }

// choose sets the port of the target.
func (t *Target) choose(ports []corev1.ServicePort, wanted string) error {
	chosen := slices.IndexFunc(ports, func(p corev1.ServicePort) bool {
		return wanted != "" && (p.Name == wanted || strconv.Itoa(int(p.Port)) == wanted)
	})
	if wanted == "" {
		chosen = max(0, slices.IndexFunc(ports, func(p corev1.ServicePort) bool { return p.Name == "http" }))
	}
	if number, err := strconv.ParseUint(wanted, 10, 16); chosen < 0 && t.Kind == KindPod && err == nil && number > 0 {
		ports, chosen = []corev1.ServicePort{{Port: int32(number)}}, 0 // A pod may listen on ports that it does not declare.
	}
	if chosen < 0 || chosen >= len(ports) {
		var have []string
		for _, p := range ports {
			have = append(have, strings.Trim(fmt.Sprintf("%d %s", p.Port, p.Name), " "))
		}
		if len(have) == 0 {
			return fmt.Errorf("%s declares no TCP port: give the number of a port of a pod", t)
		}
		return fmt.Errorf("%s has no TCP port %q: it has %s", t, wanted, strings.Join(have, ", "))
	}
	p := ports[chosen]
	t.Port, t.PortName, t.Scheme = p.Port, p.Name, "http"
	if p.Name == "https" || p.Port == 443 || p.AppProtocol != nil && *p.AppProtocol == "https" {
		t.Scheme = "https"
	}
	return nil
}

// URL returns the URL of a target at an address HOST:PORT.
func (t Target) URL(address string) string {
	return (&url.URL{Scheme: t.Scheme, Host: address, Path: "/"}).String()
}

// missing returns the error of a name that no namespace has, with the names of the Services that exist.
func missing(ctx context.Context, client kubernetes.Interface, namespaces []string, name string) error {
	var have []string
	for _, namespace := range namespaces {
		list, err := client.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{Limit: 20})
		if err != nil {
			return fmt.Errorf("list the Services of namespace %s: %w", namespace, err)
		}
		for _, s := range list.Items {
			have = append(have, s.Name)
		}
	}
	text := fmt.Sprintf("no Service or pod %q exists in the namespaces %s", name, strings.Join(namespaces, ", "))
	if len(have) > 0 {
		slices.Sort(have)
		text += ": the Services are " + strings.Join(slices.Compact(have), ", ")
	}
	return errors.New(text)
}

// endpoint returns a ready pod behind the target, and the number of the port there.
func (t Target) endpoint(ctx context.Context, client kubernetes.Interface) (pod string, port int32, err error) {
	if t.Kind == KindPod {
		return t.Name, t.Port, nil
	}
	slicesOf, err := client.DiscoveryV1().EndpointSlices(t.Namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + t.Name})
	if err != nil {
		return "", 0, fmt.Errorf("find the pods of %s: %w", t, err)
	}
	for _, slice := range slicesOf.Items {
		for _, p := range slice.Ports {
			if p.Port == nil || p.Name != nil && *p.Name != t.PortName || p.Protocol != nil && !isTCP(*p.Protocol) {
				continue
			}
			for _, e := range slice.Endpoints {
				if e.TargetRef != nil && e.TargetRef.Kind == KindPod && (e.Conditions.Ready == nil || *e.Conditions.Ready) {
					return e.TargetRef.Name, *p.Port, nil
				}
			}
		}
	}
	return "", 0, fmt.Errorf("%s has no ready pod: `strata status` says why", t)
}
