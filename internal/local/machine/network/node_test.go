package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// TestTheNodeReachesPodsWhateverThePoliciesSay checks the connections of the API server. A browser of this machine has no
// such right.
func TestTheNodeReachesPodsWhateverThePoliciesSay(t *testing.T) {
	g := open(t, nil)
	answer(t, attach(t, g, 2), 80, "two")
	web, endpoints := service("web", "10.96.1.1", 8080, 80, corev1.ProtocolTCP, 2)
	g.Update(State{Policies: []*networkingv1.NetworkPolicy{deny("isolate", "pod-2")}}.with(web, endpoints))
	for name, c := range map[string]struct {
		dial func() (net.Conn, error)
		want string // an answer, or a part of the error
	}{
		"a pod":     {func() (net.Conn, error) { return g.DialAddress(t.Context(), at("10.244.0.2:80")) }, "two 10.244.0.1 hello"},
		"a Service": {func() (net.Conn, error) { return g.DialAddress(t.Context(), at("10.96.1.1:8080")) }, "two 10.244.0.1 hello"},
		"a Service by name": {func() (net.Conn, error) { return g.DialService(t.Context(), named("web"), "8080", netip.Addr{}) },
			"two 10.244.0.1 hello"},
		"not for a browser": {func() (net.Conn, error) {
			return g.DialService(t.Context(), named("web"), "8080", at("127.0.0.1:0").Addr())
		}, "isolate"},
		"no loopback address": {func() (net.Conn, error) { return g.DialAddress(t.Context(), at("127.0.0.1:80")) }, "no address of a pod or a Service"},
		"no mapped address":   {func() (net.Conn, error) { return g.DialAddress(t.Context(), at("[::ffff:10.244.0.2]:80")) }, "no address of a pod or a Service"},
		"no public address":   {func() (net.Conn, error) { return g.DialAddress(t.Context(), at("8.8.8.8:80")) }, "no address of a pod or a Service"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := c.dial()
			if err != nil {
				if !strings.Contains(err.Error(), c.want) {
					t.Errorf("the error is %q, want %q in it", err, c.want)
				}
				return
			}
			if got, err := exchange(conn, "hello"); err != nil || got != c.want {
				t.Errorf("the pod answers %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// TestPodsReachNodePortsAtTheGateway checks that the address of the node in the pods' network serves the node ports, and
// nothing else.
func TestPodsReachNodePortsAtTheGateway(t *testing.T) {
	g := open(t, nil)
	answer(t, attach(t, g, 2), 80, "two")
	pod := attach(t, g, 3)
	web, endpoints := service("web", "10.96.1.1", 8080, 80, corev1.ProtocolTCP, 2)
	web.Spec.Ports[0].NodePort = 30080
	g.Update(State{}.with(web, endpoints))
	conn, err := pod.Dial(t.Context(), "tcp", at("10.244.0.1:30080"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := exchange(conn, "hello"); err != nil || got != "two 10.244.0.3 hello" {
		t.Errorf("the node port answers %q, %v", got, err)
	}
	for _, closed := range []string{"10.244.0.1:8080", "10.96.1.1:30080", "10.244.0.2:30080"} {
		if conn, err := pod.Dial(t.Context(), "tcp", at(closed)); err == nil {
			conn.Close()
			t.Errorf("%s is open", closed)
		}
	}
}

func TestPodsReachHostPortsAtTheGateway(t *testing.T) {
	g := open(t, nil)
	for n, name := range map[int]string{2: "two", 3: "three", 4: "four"} {
		answer(t, attach(t, g, n), 80, name)
	}
	client := attach(t, g, 5)
	asks := func(n int, ports ...corev1.ContainerPort) *corev1.Pod {
		p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Ports: ports}}}, Status: corev1.PodStatus{PodIP: ip(n).String()}}
		p.Namespace, p.Name = "default", fmt.Sprintf("pod-%d", n)
		p.Labels = map[string]string{"app": p.Name} // The policies below select pods by this label.
		return p
	}
	ended := asks(4, corev1.ContainerPort{HostPort: 8129, ContainerPort: 80})
	ended.Status.Phase = corev1.PodSucceeded
	web, endpoints := service("web", "10.96.1.1", 8080, 80, corev1.ProtocolTCP, 3)
	web.Spec.Ports[0].NodePort = 30080
	g.Update(State{Pods: []*corev1.Pod{
		asks(2, corev1.ContainerPort{HostPort: 8126, ContainerPort: 80}, corev1.ContainerPort{HostPort: 30080, ContainerPort: 80},
			corev1.ContainerPort{HostIP: "127.0.0.1", HostPort: 8127, ContainerPort: 80}),
		asks(3, corev1.ContainerPort{HostIP: "10.244.0.1", HostPort: 8128, ContainerPort: 80}), ended,
		asks(9, corev1.ContainerPort{HostPort: 8130, ContainerPort: 80}),
	}}.with(web, endpoints))
	for name, test := range map[string]struct{ to, want string }{
		"a hostPort":                              {"10.244.0.1:8126", "two 10.244.0.5 hello"},
		"a hostPort at the address of the node":   {"10.244.0.1:8128", "three 10.244.0.5 hello"},
		"a node port precedes a hostPort":         {"10.244.0.1:30080", "three 10.244.0.5 hello"},
		"a hostPort at loopback is closed":        {"10.244.0.1:8127", ""},
		"a pod that has ended serves nothing":     {"10.244.0.1:8129", ""},
		"a pod without a network serves nothing":  {"10.244.0.1:8130", ""},
		"the address of the pod has no host port": {"10.244.0.2:8126", ""},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := client.Dial(t.Context(), "tcp", at(test.to))
			if err != nil {
				if test.want != "" {
					t.Error(err)
				}
				return
			}
			if got, err := exchange(conn, "hello"); err != nil || got != test.want {
				t.Errorf("%s answers %q, %v; want %q", test.to, got, err, test.want)
			}
		})
	}
	g.Update(State{Policies: []*networkingv1.NetworkPolicy{deny("isolate", "pod-2")}, Pods: []*corev1.Pod{
		asks(2, corev1.ContainerPort{HostPort: 8126, ContainerPort: 80}),
	}})
	if conn, err := client.Dial(t.Context(), "tcp", at("10.244.0.1:8126")); err == nil {
		conn.Close()
		t.Error("a hostPort bypasses the NetworkPolicy of its pod")
	}
}

// TestTheHostConnectsForAPodWithThePodsRights checks the connections of probes and hooks that name another host.
func TestTheHostConnectsForAPodWithThePodsRights(t *testing.T) {
	g := open(t, nil)
	attach(t, g, 2)
	answer(t, attach(t, g, 3), 80, "three")
	answer(t, attach(t, g, 4), 80, "four")
	g.Update(State{Policies: []*networkingv1.NetworkPolicy{deny("isolate", "pod-4")}})
	for name, test := range map[string]struct{ pod, to, want string }{
		"a pod sees the address of the other pod": {"pod-2", "10.244.0.3:80", "three 10.244.0.2 hello"},
		"a pod that a policy isolates is closed":  {"pod-2", "10.244.0.4:80", "isolate"},
		"loopback of the machine is closed":       {"pod-2", "127.0.0.1:80", "127.0.0.1"},
		"a pod without a network has no rights":   {"pod-9", "10.244.0.3:80", "not attached"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := g.DialAs(t.Context(), named(test.pod), at(test.to))
			if err != nil {
				if !strings.Contains(err.Error(), test.want) {
					t.Errorf("the error is %q, want %q in it", err, test.want)
				}
				return
			}
			if got, err := exchange(conn, "hello"); err != nil || got != test.want {
				t.Errorf("the pod answers %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

func TestAServiceWithoutSelectorHasEndpointsThatTheRulesOpen(t *testing.T) {
	dialled := make(chan string, 1)
	g := open(t, func(o *Options) {
		o.Outside.Own = func() ([]netip.Prefix, error) { return nil, nil }
		o.Outside.Connect = func(_ context.Context, _, address string, _ func(netip.Addr) error) (net.Conn, error) {
			dialled <- address
			return nil, errors.New("the test connects to nothing")
		}
	})
	pod := attach(t, g, 2)
	public, ofPublic := service("public", "10.96.1.1", 80, 8080, corev1.ProtocolTCP)
	loopback, ofLoopback := service("loopback", "10.96.1.2", 80, 8080, corev1.ProtocolTCP)
	ofPublic.Endpoints = append(ofPublic.Endpoints, endpoint("8.8.8.8"))
	ofLoopback.Endpoints = append(ofLoopback.Endpoints, endpoint("127.0.0.1"), endpoint("169.254.169.254"), endpoint("10.0.0.1"))
	g.Update(State{}.with(public, ofPublic).with(loopback, ofLoopback))
	for _, address := range []string{"10.96.1.2:80", "10.96.1.1:80"} {
		if conn, err := pod.Dial(t.Context(), "tcp", at(address)); err == nil {
			conn.Close()
			t.Errorf("%s is open", address)
		}
	}
	if got := <-dialled; got != "8.8.8.8:8080" {
		t.Errorf("the gateway connects to %s", got)
	}
}
