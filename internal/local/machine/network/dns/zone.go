package dns

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/dns/dnsmessage"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/strata-platform/strata/internal/local/machine/network/services"
)

// Zone contains the records of a cluster's domain (Kubernetes, "DNS-Based Service Discovery", version 1.1.0). It does
// not change, so goroutines may share it.
type Zone struct {
	domain string // with a dot at both ends
	names  map[string]*records
}

// records are those of one name. A name without records exists, too, if a longer name does (RFC 8020).
type records struct {
	addresses []netip.Addr
	services  []dnsmessage.SRVResource
	alias     string
	pointers  []string
	text      string
}

// NewZone returns the zone of a domain such as cluster.local, with the records of the Services and EndpointSlices. The
// names of pods, IP-WITH-DASHES.NAMESPACE.pod, need no object.
func NewZone(domain string, all []*corev1.Service, endpoints []*discoveryv1.EndpointSlice) *Zone {
	z := &Zone{"." + strings.ToLower(strings.Trim(domain, ".")) + ".", map[string]*records{}}
	z.at("dns-version" + z.domain).text = "1.1.0"
	z.at("svc" + z.domain)
	z.at("pod" + z.domain)
	slicesOf := map[string][]*discoveryv1.EndpointSlice{}
	for _, s := range endpoints {
		name := s.Namespace + "/" + s.Labels[discoveryv1.LabelServiceName]
		slicesOf[name] = append(slicesOf[name], s)
	}
	for _, s := range all {
		z.add(s, slicesOf[s.Namespace+"/"+s.Name])
	}
	return z
}

// at returns the records of a name of the zone, and creates them and those of the shorter names.
func (z *Zone) at(name string) *records {
	if r := z.names[name]; r != nil {
		return r
	}
	r := &records{}
	z.names[name] = r
	if _, parent, ok := strings.Cut(name, "."); ok && strings.HasSuffix("."+parent, z.domain) {
		z.at(parent)
	}
	return r
}

func (z *Zone) add(s *corev1.Service, endpoints []*discoveryv1.EndpointSlice) {
	name := s.Name + "." + s.Namespace + ".svc" + z.domain
	switch {
	case s.Spec.Type == corev1.ServiceTypeExternalName:
		z.at(name).alias = strings.ToLower(strings.TrimSuffix(s.Spec.ExternalName, ".")) + "."
	case s.Spec.ClusterIP == corev1.ClusterIPNone:
		z.headless(name, s, endpoints)
	default:
		r := z.at(name)
		for _, text := range append([]string{s.Spec.ClusterIP}, s.Spec.ClusterIPs...) {
			if a, err := netip.ParseAddr(text); err == nil && !slices.Contains(r.addresses, a) {
				r.addresses = append(r.addresses, a)
				z.pointer(a, name)
			}
		}
		for _, p := range s.Spec.Ports {
			z.service(p.Name, p.Protocol, uint16(p.Port), name, name)
		}
	}
}

// headless adds the addresses of the endpoints, and a name for each endpoint: the hostname of its pod, or its address.
func (z *Zone) headless(name string, s *corev1.Service, endpoints []*discoveryv1.EndpointSlice) {
	z.at(name)
	for _, slice := range endpoints {
		for _, e := range slice.Endpoints {
			if !services.IsReady(s, e) {
				continue
			}
			for _, text := range e.Addresses {
				a, err := netip.ParseAddr(text)
				if err != nil || !a.Is4() {
					continue
				}
				label := dashed(a)
				if e.Hostname != nil && *e.Hostname != "" {
					label = *e.Hostname
				}
				pod := strings.ToLower(label) + "." + name
				z.address(name, a)
				z.address(pod, a)
				z.pointer(a, pod)
				for _, p := range slice.Ports {
					if p.Port != nil && p.Protocol != nil && p.Name != nil {
						z.service(*p.Name, *p.Protocol, uint16(*p.Port), name, pod)
					}
				}
			}
		}
	}
}

func (z *Zone) address(name string, a netip.Addr) {
	if r := z.at(name); !slices.Contains(r.addresses, a) {
		r.addresses = append(r.addresses, a)
	}
}

// service adds an SRV record. Ports without a name have none.
func (z *Zone) service(port string, protocol corev1.Protocol, number uint16, name, target string) {
	if port == "" {
		return
	}
	host, err := dnsmessage.NewName(target)
	if err != nil {
		return
	}
	record := dnsmessage.SRVResource{Weight: 100, Port: number, Target: host}
	r := z.at("_" + port + "._" + strings.ToLower(string(cmp.Or(protocol, corev1.ProtocolTCP))) + "." + name)
	if !slices.Contains(r.services, record) {
		r.services = append(r.services, record)
	}
}

func (z *Zone) pointer(a netip.Addr, name string) {
	reverse := reversed(a)
	if reverse == "" {
		return
	}
	r := z.names[reverse]
	if r == nil {
		r = &records{}
		z.names[reverse] = r
	}
	r.pointers = append(r.pointers, name)
}

// Lookup returns the records of a name, in lower case with a dot at its end, and whether the zone is responsible for the
// name. A nil result for a name of the zone means that it does not exist.
func (z *Zone) lookup(name string) (found *records, own bool) {
	if r := z.names[name]; r != nil {
		return r, true
	}
	if name == z.domain[1:] {
		return &records{}, true
	}
	if !strings.HasSuffix(name, z.domain) {
		return nil, false
	}
	// A-B-C-D.NAMESPACE.pod
	labels := strings.Split(strings.TrimSuffix(name, z.domain), ".")
	if len(labels) == 3 && labels[2] == "pod" {
		if a, err := netip.ParseAddr(strings.ReplaceAll(labels[0], "-", ".")); err == nil && a.Is4() {
			return &records{addresses: []netip.Addr{a}}, true
		}
	}
	return nil, true
}

func dashed(a netip.Addr) string { return strings.ReplaceAll(a.String(), ".", "-") }

// reversed returns the name with the PTR records of an IPv4 address (RFC 1035, section 3.5).
func reversed(a netip.Addr) string {
	if !a.Is4() {
		return ""
	}
	var b strings.Builder
	for _, part := range slices.Backward(a.AsSlice()) {
		b.WriteString(strconv.Itoa(int(part)) + ".")
	}
	return b.String() + "in-addr.arpa."
}
