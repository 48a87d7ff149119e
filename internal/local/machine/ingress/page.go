package ingress

import (
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1listers "k8s.io/client-go/listers/core/v1"
)

// PageAnnotation of a Service is the name or number of a port with pages for people. The router serves it at
// http://SERVICE.NAMESPACE.localhost, at the port of AddressAnnotation. Services without it are not served: every user of this
// machine can connect to the router.
const PageAnnotation = "strata.dev/page"

// AddressAnnotation of the class is the address of the router, HOST:PORT.
const AddressAnnotation = "strata.dev/address"

// pageDomain is the domain of pages. Browsers resolve all names in it to this machine (RFC 6761, section 6.3).
const pageDomain = ".localhost"

// pageOf returns the Service whose page has a host. Only the host's form decides.
func pageOf(host string) (service types.NamespacedName, ok bool) {
	names, ok := strings.CutSuffix(plain(host), pageDomain)
	if !ok {
		return service, false
	}
	service.Name, service.Namespace, ok = strings.Cut(names, ".")
	return service, ok && service.Name != "" && service.Namespace != "" && !strings.Contains(service.Namespace, ".")
}

// namespaceOf returns the last label of a host before localhost, or "". If a namespace has this name, only its Ingresses may serve
// the host: browsers send the cookies of a page to all programs that answer at the page's host, and, if a cookie names the domain,
// at the hosts below NAMESPACE.localhost. The page's Service may not exist yet, or no longer.
func namespaceOf(host string) string {
	names, ok := strings.CutSuffix(plain(host), pageDomain)
	if !ok {
		return ""
	}
	return names[strings.LastIndexByte(names, '.')+1:]
}

// plain returns a host without port and final dot, in lower case.
func plain(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// page returns the backend of a Service's page, or nil if the Service has none.
func page(services corev1listers.ServiceLister, name types.NamespacedName) *backend {
	s, err := services.Services(name.Namespace).Get(name.Name)
	if err != nil || s.Annotations[PageAnnotation] == "" {
		return nil
	}
	for _, p := range s.Spec.Ports {
		wanted := s.Annotations[PageAnnotation]
		if (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP) && (p.Name == wanted || strconv.Itoa(int(p.Port)) == wanted) {
			return &backend{name, wanted, true}
		}
	}
	return nil
}
