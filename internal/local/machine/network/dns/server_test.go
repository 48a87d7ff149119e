package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/yaml"
)

func parse[T any](t testing.TB, texts ...string) []*T {
	t.Helper()
	var all []*T
	for _, text := range texts {
		object := new(T)
		if err := yaml.UnmarshalStrict([]byte(text), object); err != nil {
			t.Fatal(err)
		}
		all = append(all, object)
	}
	return all
}

func testZone(t testing.TB) *Zone {
	many := make([]string, 100)
	for n := range many {
		many[n] = fmt.Sprintf("{addresses: [10.244.1.%d]}", n)
	}
	return NewZone("cluster.local", parse[corev1.Service](t,
		`{metadata: {namespace: shop, name: web}, spec: {clusterIP: 10.96.1.1, ports: [{name: http, port: 80}]}}`,
		`{metadata: {namespace: shop, name: db}, spec: {clusterIP: None}}`,
		`{metadata: {namespace: shop, name: many}, spec: {clusterIP: None}}`,
		`{metadata: {namespace: shop, name: unready}, spec: {clusterIP: None, publishNotReadyAddresses: true}}`,
		`{metadata: {namespace: shop, name: alias}, spec: {type: ExternalName, externalName: web.shop.svc.cluster.local}}`,
		`{metadata: {namespace: shop, name: away}, spec: {type: ExternalName, externalName: example.com}}`,
		`{metadata: {namespace: shop, name: circle}, spec: {type: ExternalName, externalName: circle.shop.svc.cluster.local}}`,
	), parse[discoveryv1.EndpointSlice](t,
		`{metadata: {namespace: shop, name: a, labels: {kubernetes.io/service-name: db}}, addressType: IPv4, ports: [{name: mysql, port: 3306, protocol: TCP}],
		  endpoints: [{addresses: [10.244.0.2], hostname: db-0}, {addresses: [10.244.0.3]}, {addresses: [10.244.0.4], conditions: {ready: false}}]}`,
		`{metadata: {namespace: shop, name: b, labels: {kubernetes.io/service-name: many}}, addressType: IPv4, endpoints: [`+strings.Join(many, ", ")+`]}`,
		`{metadata: {namespace: shop, name: c, labels: {kubernetes.io/service-name: unready}}, addressType: IPv4, endpoints: [{addresses: [10.244.0.4], conditions: {ready: false}}]}`,
	))
}

// upstream answers every name with a public address, one of the host, and an IPv6 address.
func upstream(_ context.Context, query []byte) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, err
	}
	m.Response = true
	if strings.HasPrefix(m.Questions[0].Name.String(), "missing") {
		m.RCode = dnsmessage.RCodeNameError
		return m.Pack()
	}
	if strings.HasPrefix(m.Questions[0].Name.String(), "broken") {
		return nil, errors.New("no resolver")
	}
	h := dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET, TTL: 60}
	m.Answers = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.AResource{A: [4]byte{127, 0, 0, 1}}},
		{Header: h, Body: &dnsmessage.AResource{A: [4]byte{1, 1, 1, 1}}}, {Header: h, Body: &dnsmessage.AAAAResource{AAAA: [16]byte{15: 1}}}}
	return m.Pack()
}

func testServer(t testing.TB) *Server {
	zone := testZone(t)
	return &Server{Zone: func() *Zone { return zone }, Upstream: upstream, Allowed: func(a netip.Addr) error {
		if a.IsLoopback() {
			return errors.New("loopback")
		}
		return nil
	}}
}

func query(t testing.TB, name string, kind dnsmessage.Type) []byte {
	t.Helper()
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}}}
	packed, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

// told prints an answer: its code, and the records of its answers in order.
func told(t testing.TB, raw []byte) string {
	t.Helper()
	var m dnsmessage.Message
	if err := m.Unpack(raw); err != nil {
		t.Fatal(err)
	}
	parts := []string{}
	for _, r := range m.Answers {
		switch b := r.Body.(type) {
		case *dnsmessage.AResource:
			parts = append(parts, netip.AddrFrom4(b.A).String())
		case *dnsmessage.CNAMEResource:
			parts = append(parts, "alias "+b.CNAME.String())
		case *dnsmessage.SRVResource:
			parts = append(parts, fmt.Sprintf("%s:%d", b.Target, b.Port))
		case *dnsmessage.PTRResource:
			parts = append(parts, b.PTR.String())
		case *dnsmessage.TXTResource:
			parts = append(parts, b.TXT...)
		default:
			parts = append(parts, r.Header.Type.String())
		}
	}
	slices.Sort(parts)
	return strings.TrimSpace(strings.TrimPrefix(m.RCode.String(), "RCode") + " " + strings.Join(parts, " "))
}

func TestAnswer(t *testing.T) {
	const a, aaaa, srv, ptr, txt = dnsmessage.TypeA, dnsmessage.TypeAAAA, dnsmessage.TypeSRV, dnsmessage.TypePTR, dnsmessage.TypeTXT
	s := testServer(t)
	for name, c := range map[string]struct {
		name string
		kind dnsmessage.Type
		want string
	}{
		"a Service has its cluster IP":               {"web.shop.svc.cluster.local.", a, "Success 10.96.1.1"},
		"names ignore case":                          {"WEB.Shop.svc.cluster.LOCAL.", a, "Success 10.96.1.1"},
		"a Service has no IPv6 address":              {"web.shop.svc.cluster.local.", aaaa, "Success"},
		"a headless Service has its ready endpoints": {"db.shop.svc.cluster.local.", a, "Success 10.244.0.2 10.244.0.3"},
		"it publishes those that are not ready":      {"unready.shop.svc.cluster.local.", a, "Success 10.244.0.4"},
		"a pod with a hostname has a name":           {"db-0.db.shop.svc.cluster.local.", a, "Success 10.244.0.2"},
		"a pod without one is named by its address":  {"10-244-0-3.db.shop.svc.cluster.local.", a, "Success 10.244.0.3"},
		"a named port of a Service":                  {"_http._tcp.web.shop.svc.cluster.local.", srv, "Success web.shop.svc.cluster.local.:80"},
		"a named port of a headless Service":         {"_mysql._tcp.db.shop.svc.cluster.local.", srv, "Success 10-244-0-3.db.shop.svc.cluster.local.:3306 db-0.db.shop.svc.cluster.local.:3306"},
		"a pod's address as a name":                  {"10-244-0-9.shop.pod.cluster.local.", a, "Success 10.244.0.9"},
		"another name of a pod does not exist":       {"web-0.shop.pod.cluster.local.", a, "NameError"},
		"a cluster IP has the name of its Service":   {"1.1.96.10.in-addr.arpa.", ptr, "Success web.shop.svc.cluster.local."},
		"a pod's address has its name":               {"2.0.244.10.in-addr.arpa.", ptr, "Success db-0.db.shop.svc.cluster.local."},
		"an alias within the cluster":                {"alias.shop.svc.cluster.local.", a, "Success 10.96.1.1 alias web.shop.svc.cluster.local."},
		"an alias of an outside name":                {"away.shop.svc.cluster.local.", a, "Success 1.1.1.1 alias example.com."},
		"a circle of aliases fails":                  {"circle.shop.svc.cluster.local.", dnsmessage.TypeTXT, "ServerFailure alias circle.shop.svc.cluster.local. alias circle.shop.svc.cluster.local. alias circle.shop.svc.cluster.local. alias circle.shop.svc.cluster.local. alias circle.shop.svc.cluster.local. alias circle.shop.svc.cluster.local. alias circle.shop.svc.cluster.local. alias circle.shop.svc.cluster.local."},
		"a Service that does not exist":              {"none.shop.svc.cluster.local.", a, "NameError"},
		"an outside name with the search path":       {"example.com.shop.svc.cluster.local.", a, "NameError"},
		"a namespace exists without records":         {"shop.svc.cluster.local.", a, "Success"},
		"the version of the schema":                  {"dns-version.cluster.local.", txt, "Success 1.1.0"},
		"an outside name without the host's address": {"rebinding.example.com.", a, "Success 1.1.1.1"},
		"an outside name has no IPv6 address":        {"example.com.", aaaa, "Success"},
		"an outside name that does not exist":        {"missing.example.com.", a, "NameError"},
		"an outside name without a resolver":         {"broken.example.com.", a, "ServerFailure"},
		"a name that only ends like the domain":      {"xcluster.local.", a, "Success 1.1.1.1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := told(t, s.Answer(t.Context(), query(t, c.name, c.kind), false)); got != c.want {
				t.Errorf("%s: %s; want %s", c.name, got, c.want)
			}
		})
	}
}

func TestOwnNamesPrecedeTheUpstream(t *testing.T) {
	s := testServer(t)
	s.Names = map[string]netip.Addr{"sqladmin.googleapis.com.": netip.MustParseAddr("199.36.153.8"), "web.shop.svc.cluster.local.": netip.MustParseAddr("9.9.9.9")}
	for name, want := range map[string]string{
		"SQLadmin.googleapis.com.":    "Success 199.36.153.8",
		"web.shop.svc.cluster.local.": "Success 10.96.1.1", // The cluster's names are its own.
	} {
		if got := told(t, s.Answer(t.Context(), query(t, name, dnsmessage.TypeA), false)); got != want {
			t.Errorf("%s: %s; want %s", name, got, want)
		}
	}
}

func TestALongAnswerNeedsTCP(t *testing.T) {
	s := testServer(t)
	q := query(t, "many.shop.svc.cluster.local.", dnsmessage.TypeA)
	udp := s.Answer(t.Context(), q, true)
	if !isTruncated(udp) || len(udp) > smallest {
		t.Errorf("the UDP answer has %d bytes, truncated %t", len(udp), isTruncated(udp))
	}
	if got := told(t, s.Answer(t.Context(), q, false)); strings.Count(got, "10.244.1.") != 100 {
		t.Errorf("the TCP answer is %s", got)
	}
}

func TestBadQueries(t *testing.T) {
	s := testServer(t)
	q := query(t, "web.shop.svc.cluster.local.", dnsmessage.TypeA)
	answer := slices.Clone(q)
	answer[2] |= 0x80
	update := slices.Clone(q)
	update[2] |= 5 << 3
	two := slices.Clone(q)
	two[5] = 2
	for name, c := range map[string]struct {
		query []byte
		want  string
	}{
		"no query":                    {nil, "none"},
		"half a header":               {q[:6], "none"},
		"an answer":                   {answer, "none"},
		"an update":                   {update, "NotImplemented"},
		"two questions, but only one": {two, "FormatError"},
		"half a name":                 {q[:20], "FormatError"},
	} {
		got := "none"
		if raw := s.Answer(t.Context(), c.query, true); raw != nil {
			got = told(t, raw)
		}
		if got != c.want {
			t.Errorf("%s is answered with %s; want %s", name, got, c.want)
		}
	}
}

func TestHostAsksTheResolversOfTheFile(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go (&Server{Zone: func() *Zone { return NewZone("example.com", nil, nil) }, Upstream: upstream}).ServePackets(t.Context(), conn, 4)
	answer, err := Servers(netip.MustParseAddrPort(conn.LocalAddr().String()))(t.Context(), query(t, "one.example.org.", dnsmessage.TypeA))
	if err != nil || answer[1] != 7 {
		t.Fatalf("the answer is %v, %v", answer, err)
	}
	file := filepath.Join(t.TempDir(), "resolv.conf")
	for text, want := range map[string]string{
		"# comment\nnameserver 127.0.0.53\nsearch x\nnameserver ::1\n": "[127.0.0.53:53 [::1]:53]",
		"search x\n": "[]",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := nameservers(file); fmt.Sprint(got) != want || (err == nil) != (len(got) > 0) {
			t.Errorf("%q has resolvers %v, %v; want %s", text, got, err, want)
		}
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(query(f, "web.shop.svc.cluster.local.", dnsmessage.TypeA))
	f.Add(query(f, "away.shop.svc.cluster.local.", dnsmessage.TypeALL))
	s := testServer(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, udp := range []bool{true, false} {
			answer := s.Answer(t.Context(), raw, udp)
			if answer == nil {
				continue
			}
			var p dnsmessage.Parser
			if h, err := p.Start(answer); err != nil || !h.Response {
				t.Fatalf("the answer has the header %v, %v", h, err)
			}
			if udp && len(answer) > largest {
				t.Fatalf("the UDP answer has %d bytes", len(answer))
			}
		}
	})
}
