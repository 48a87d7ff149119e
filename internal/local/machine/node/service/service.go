// Package service replaces cluster DNS and kube-proxy for pods that run as processes. The name of a Service in their
// arguments or variables becomes a loopback port, which stays the same for the life of the home.
package service

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	corev1listers "k8s.io/client-go/listers/core/v1"

	"github.com/strata-platform/strata/operator/accept"
	"github.com/strata-platform/strata/operator/sandbox"
)

// Options configures Services. All fields are required.
type Options struct {
	// Lister lists the Services of the cluster.
	Lister corev1listers.ServiceLister
	// Listen listens on the reserved loopback port of a name.
	Listen func(name string) (net.Listener, error)
	// Pods returns the pods of a namespace on this node.
	Pods func(namespace string) []Pod
	Log  *slog.Logger
}

// Pod is a pod that may serve a Service.
type Pod interface {
	// Object returns the pod's latest object. Callers do not modify it.
	Object() *corev1.Pod
	// Endpoint returns a function that connects to the pod's first ready container on the target port of a Service's
	// port, or nil if no ready container listens there.
	Endpoint(port corev1.ServicePort) func(ctx context.Context) (net.Conn, error)
}

// Services forwards connections to the ready pods of Services. Its methods may be called concurrently.
type Services struct {
	options Options

	mu        sync.Mutex
	listeners map[string]net.Listener
}

// New returns Services that listen on no port yet. The caller must close them.
func New(o Options) *Services { return &Services{options: o, listeners: map[string]net.Listener{}} }

// serviceName matches the DNS name of a Service, with an optional scheme before it and an optional port after it
// (Kubernetes, "DNS for Services and Pods").
var serviceName = regexp.MustCompile(`(https?://)?\b([a-z]([-a-z0-9]*[a-z0-9])?)\.([a-z0-9]([-a-z0-9]*[a-z0-9])?)\.svc(?:\.cluster\.local)?\.?(?::(\d+))?`)

// inName matches a character of a DNS name. Next to a match of serviceName, it shows that the match is part of a
// longer name.
var inName = regexp.MustCompile(`^[-.\w]$`)

// Rewrite replaces every Service name in text by its address. A name stays if its port is no number of a port or if no
// port is free; the log shows the error.
func (s *Services) Rewrite(text string) string {
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
		address, err := s.Address(namespace, service, port)
		if err != nil {
			s.options.Log.Error("get a port for a Service", "namespace", namespace, "service", service, "error", err)
			continue
		}
		b.WriteString(text[last:begin] + scheme + address)
		last = end
	}
	return b.String() + text[last:]
}

// Address returns the loopback address, HOST:PORT, of a Service's port, and starts to forward connections to it. The
// Service need not exist yet.
func (s *Services) Address(namespace, service, port string) (string, error) {
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
	l, err := s.options.Listen(name)
	if err != nil {
		return "", err
	}
	s.listeners[name] = l
	forward := sandbox.Forward(func(context.Context) (net.Conn, error) { return s.Dial(namespace, service, int32(number)) })
	loop := accept.Loop{Places: maxConnections, Serve: func(ctx context.Context, conn net.Conn) {
		if err := checkPeer(conn); err != nil {
			s.options.Log.Warn("rejected a connection", "namespace", namespace, "service", service, "reason", err.Error())
			return
		}
		forward(ctx, conn)
	}}
	go loop.Run(context.Background(), l)
	return l.Addr().String(), nil
}

// Close stops accepting connections.
func (s *Services) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.listeners {
		l.Close()
	}
}

// maxConnections bounds the open connections to one port of a Service.
const maxConnections = 1000

// Dial connects to a random ready pod of a Service. If that program has exited before a probe noticed, Dial tries
// another pod. It fails if no ready pod answers within dialTimeout.
func (s *Services) Dial(namespace, service string, port int32) (net.Conn, error) {
	endpoints := s.endpoints(namespace, service, port)
	rand.Shuffle(len(endpoints), func(i, j int) { endpoints[i], endpoints[j] = endpoints[j], endpoints[i] })
	ctx, cancel := context.WithTimeout(context.Background(), dialTimeout)
	defer cancel()
	for _, dial := range endpoints {
		if conn, err := dial(ctx); err == nil {
			return conn, nil
		}
	}
	return nil, fmt.Errorf("no ready pod serves port %d of Service %s/%s", port, namespace, service)
}

// dialTimeout bounds how long Dial waits for the pods.
const dialTimeout = 10 * time.Second

// endpoints returns the endpoints of the ready pods behind a port of a Service. It skips terminating pods, and Services
// without a selector.
func (s *Services) endpoints(namespace, service string, port int32) []func(ctx context.Context) (net.Conn, error) {
	object, err := s.options.Lister.Services(namespace).Get(service)
	if err != nil || len(object.Spec.Selector) == 0 {
		return nil
	}
	servicePort, ok := portOf(object, port)
	if !ok {
		return nil
	}
	selector := labels.SelectorFromSet(object.Spec.Selector)
	var endpoints []func(ctx context.Context) (net.Conn, error)
	for _, p := range s.options.Pods(namespace) {
		o := p.Object()
		if o.DeletionTimestamp != nil || !selector.Matches(labels.Set(o.Labels)) {
			continue
		}
		if dial := p.Endpoint(servicePort); dial != nil {
			endpoints = append(endpoints, dial)
		}
	}
	return endpoints
}

// portOf returns the port of a Service with a number.
func portOf(service *corev1.Service, port int32) (corev1.ServicePort, bool) {
	for _, p := range service.Spec.Ports {
		if p.Port == port {
			return p, true
		}
	}
	return corev1.ServicePort{}, false
}
