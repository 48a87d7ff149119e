package services

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/yaml"
)

func parse[T any](t *testing.T, text string) *T {
	t.Helper()
	object := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
		t.Fatal(err)
	}
	return object
}

const slice = `
metadata: {namespace: shop, name: web-1, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}, {name: dns, port: 5353, protocol: UDP}]
endpoints:
- {addresses: [10.244.0.2], targetRef: {kind: Pod, name: web-a}}
- {addresses: [10.244.0.3], conditions: {ready: true}}
- {addresses: [10.244.0.4], conditions: {ready: false}}
`

// another has another number for the same named target port, as after a change of the pods' template.
const another = `
metadata: {namespace: shop, name: web-2, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 9090, protocol: TCP}]
endpoints: [{addresses: [10.244.0.5]}, {addresses: [10.244.0.3]}]
`

func TestLookup(t *testing.T) {
	for name, c := range map[string]struct {
		service  string
		protocol corev1.Protocol
		address  string
		want     string // the endpoints, or "none" without a port
	}{
		"the cluster IP leads to ready endpoints": {`{clusterIP: 10.96.1.1, ports: [{name: http, port: 80}]}`, "TCP", "10.96.1.1:80",
			"[10.244.0.2:8080 10.244.0.3:8080 10.244.0.3:9090 10.244.0.5:9090]"},
		"a UDP port has its own endpoints": {`{clusterIP: 10.96.1.1, ports: [{name: dns, port: 53, protocol: UDP}]}`, "UDP", "10.96.1.1:53", "[10.244.0.2:5353 10.244.0.3:5353]"},
		"a UDP port is no TCP port":        {`{clusterIP: 10.96.1.1, ports: [{name: dns, port: 53, protocol: UDP}]}`, "TCP", "10.96.1.1:53", "none"},
		"another port is none":             {`{clusterIP: 10.96.1.1, ports: [{name: http, port: 80}]}`, "TCP", "10.96.1.1:8080", "none"},
		"endpoints that are not ready, if published": {`{clusterIP: 10.96.1.1, publishNotReadyAddresses: true, ports: [{name: dns, port: 53, protocol: UDP}]}`, "UDP", "10.96.1.1:53",
			"[10.244.0.2:5353 10.244.0.3:5353 10.244.0.4:5353]"},
		"an external IP":                     {`{clusterIP: 10.96.1.1, externalIPs: [9.9.9.9], ports: [{name: dns, port: 53, protocol: UDP}]}`, "UDP", "9.9.9.9:53", "[10.244.0.2:5353 10.244.0.3:5353]"},
		"a headless Service has no address":  {`{clusterIP: None, ports: [{name: http, port: 80}]}`, "TCP", "10.96.1.1:80", "none"},
		"an ExternalName has no address":     {`{type: ExternalName, externalName: a.example, clusterIP: 10.96.1.1, ports: [{name: http, port: 80}]}`, "TCP", "10.96.1.1:80", "none"},
		"a port without endpoints is a port": {`{clusterIP: 10.96.1.1, ports: [{name: other, port: 80}]}`, "TCP", "10.96.1.1:80", "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := parse[corev1.Service](t, "{metadata: {namespace: shop, name: web}, spec: "+c.service+"}")
			table := NewTable([]*corev1.Service{s}, []*discoveryv1.EndpointSlice{parse[discoveryv1.EndpointSlice](t, slice), parse[discoveryv1.EndpointSlice](t, another)})
			got := "none"
			if port := table.Lookup(c.protocol, netip.MustParseAddrPort(c.address)); port != nil {
				found := []netip.AddrPort{}
				for _, e := range port.Endpoints {
					found = append(found, e.Address)
				}
				got = fmt.Sprint(found)
			}
			if got != c.want {
				t.Errorf("the endpoints are %s; want %s", got, c.want)
			}
		})
	}
}

func TestASessionKeepsItsEndpointUntilItExpires(t *testing.T) {
	now := time.Now()
	b := &Balancer{Now: func() time.Time { return now }}
	s := parse[corev1.Service](t, `{metadata: {namespace: shop, name: web}, spec: {clusterIP: 10.96.1.1, sessionAffinity: ClientIP,
		sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}, ports: [{name: http, port: 80}]}}`)
	port := NewTable([]*corev1.Service{s}, []*discoveryv1.EndpointSlice{parse[discoveryv1.EndpointSlice](t, slice), parse[discoveryv1.EndpointSlice](t, another)}).
		Lookup(corev1.ProtocolTCP, netip.MustParseAddrPort("10.96.1.1:80"))
	client := netip.MustParseAddr("10.244.0.9")
	b.Keep(port, client, port.Endpoints[2])
	for range 50 {
		now = now.Add(59 * time.Second)
		if first := b.Order(port, client)[0]; first != port.Endpoints[2] {
			t.Fatalf("the session has endpoint %v; want %v", first, port.Endpoints[2])
		}
		b.Keep(port, client, port.Endpoints[2])
	}
	firsts := func() (found []netip.AddrPort) {
		for range 100 {
			found = append(found, b.Order(port, client)[0].Address)
		}
		return slices.Compact(found)
	}
	now = now.Add(61 * time.Second)
	if len(firsts()) == 1 {
		t.Error("the endpoint stays the same after the session's end")
	}
	b.Keep(port, client, Endpoint{Address: netip.MustParseAddrPort("10.244.0.77:80")})
	if len(firsts()) == 1 {
		t.Error("the endpoint stays the same after it is gone")
	}
}

func TestTheNumberOfSessionsIsBounded(t *testing.T) {
	b := &Balancer{}
	port := &Port{Affinity: time.Hour, Endpoints: []Endpoint{{}}}
	for n := range maxSessions + 100 {
		b.Keep(port, netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), port.Endpoints[0])
	}
	if n := len(b.sessions); n > maxSessions {
		t.Errorf("the balancer remembers %d sessions; want at most %d", n, maxSessions)
	}
}
