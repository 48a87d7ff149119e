package node

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1listers "k8s.io/client-go/listers/core/v1"

	"github.com/strata-platform/strata/operator/engine/sandbox"
)

// services replaces cluster DNS and kube-proxy for pods that run as processes. The name of a Service in their
// arguments or variables becomes a loopback port, which stays the same for the life of the home. services forwards its
// connections to a ready pod of the Service.
type services struct {
	lister corev1listers.ServiceLister
	// listen listens on the reserved port of a name.
	listen func(name string) (net.Listener, error)
	// pods returns the pods of a namespace on this node.
	pods func(namespace string) []*pod
	log  *slog.Logger

	mu        sync.Mutex
	listeners map[string]net.Listener
}

// serviceName matches the DNS name of a Service, with an optional scheme before it and an optional port after it
// (Kubernetes, "DNS for Services and Pods").
var serviceName = regexp.MustCompile(`(https?://)?\b([a-z]([-a-z0-9]*[a-z0-9])?)\.([a-z0-9]([-a-z0-9]*[a-z0-9])?)\.svc(?:\.cluster\.local)?\.?(?::(\d+))?`)

// inName matches a character of a DNS name. Next to a match of serviceName, it shows that the match is part of a
// longer name.
var inName = regexp.MustCompile(`^[-.\w]$`)

// rewrite replaces every Service name in text by its address. If it gets no port, it leaves the name.
func (s *services) rewrite(text string) string {
	var b strings.Builder
	last := 0
	for _, m := range serviceName.FindAllStringSubmatchIndex(text, -1) {
		begin, end := m[0], m[1]
		if begin > 0 && inName.MatchString(text[begin-1:begin]) || end < len(text) && inName.MatchString(text[end:end+1]) {
			continue
		}
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[m[2*i]:m[2*i+1]]
		}
		scheme, service, namespace, port := group(1), group(2), group(4), group(6)
		if port == "" {
			port = map[bool]string{true: "443", false: "80"}[scheme == "https://"]
		}
		address, err := s.address(namespace, service, port)
		if err != nil {
			s.log.Error("no port for a Service", "namespace", namespace, "service", service, "error", err)
			continue
		}
		b.WriteString(text[last:begin] + scheme + address)
		last = end
	}
	return b.String() + text[last:]
}

// address returns the loopback address of a Service's port, and starts to forward connections to it.
func (s *services) address(namespace, service, port string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := fmt.Sprintf("service/%s/%s:%s", namespace, service, port)
	if l, ok := s.listeners[name]; ok {
		return l.Addr().String(), nil
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", err
	}
	l, err := s.listen(name)
	if err != nil {
		return "", err
	}
	s.listeners[name] = l
	forward := sandbox.Forward(func(context.Context) (net.Conn, error) { return s.dial(namespace, service, int32(number)) })
	go sandbox.Relay(context.Background(), l, maxConnections, func(ctx context.Context, conn net.Conn) {
		if err := checkPeer(conn); err != nil {
			s.log.Warn("refused a connection", "namespace", namespace, "service", service, "reason", err.Error())
			return
		}
		forward(ctx, conn)
	})
	return l.Addr().String(), nil
}

// close stops accepting connections.
func (s *services) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		l.Close()
	}
}

// DialService connects to a ready pod of a Service, as a pod of this node would. It finds only pods that run as
// processes.
func (n *Node) DialService(namespace, service string, port int32) (net.Conn, error) {
	return n.services.dial(namespace, service, port)
}

// maxConnections bounds the open connections to one port of a Service.
const maxConnections = 1000

// dial connects to a random ready pod of a Service. If that program has exited before a probe noticed, dial tries
// another pod.
func (s *services) dial(namespace, service string, port int32) (net.Conn, error) {
	targets, at := s.targets(namespace, service, port)
	rand.Shuffle(len(targets), func(i, j int) { targets[i], targets[j] = targets[j], targets[i] })
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	for _, target := range targets {
		if conn, err := target.dial(ctx, at); err == nil {
			return conn, nil
		}
	}
	return nil, fmt.Errorf("no ready pod serves port %d of Service %s/%s", port, namespace, service)
}

// dialTimeout bounds how long dial waits for the pods.
const dialTimeout = 10 * time.Second

// targets returns the ready containers behind a port of a Service, and their port. It skips terminating pods.
func (s *services) targets(namespace, service string, port int32) (targets []*container, at intstr.IntOrString) {
	object, err := s.lister.Services(namespace).Get(service)
	if err != nil || len(object.Spec.Selector) == 0 {
		return nil, at
	}
	servicePort, ok := portOf(object, port)
	if !ok {
		return nil, at
	}
	selector := labels.SelectorFromSet(object.Spec.Selector)
	for _, p := range s.pods(namespace) {
		o := p.current()
		if o.DeletionTimestamp != nil || !selector.Matches(labels.Set(o.Labels)) {
			continue
		}
		for _, c := range p.all() {
			if c.serves(servicePort) {
				targets = append(targets, c)
				break
			}
		}
	}
	return targets, servicePort.TargetPort
}

func portOf(service *corev1.Service, port int32) (corev1.ServicePort, bool) {
	for _, p := range service.Spec.Ports {
		if p.Port == port {
			return p, true
		}
	}
	return corev1.ServicePort{}, false
}

// serves reports whether a container is ready and listens on a Service's target port.
func (c *container) serves(port corev1.ServicePort) bool {
	c.pod.mu.Lock()
	ready := c.ready && c.image != nil
	_, listens := c.ports[port.TargetPort.IntVal]
	c.pod.mu.Unlock()
	if !ready {
		return false
	}
	if port.TargetPort.Type == intstr.String {
		return slices.ContainsFunc(c.spec.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.TargetPort.StrVal })
	}
	return listens || slices.ContainsFunc(c.spec.Ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == port.TargetPort.IntVal })
}
