package sandboxed

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// domain is the domain of the cluster.
const domain = "cluster.local"

// hostname returns the host name of a pod: its own setting, or its name, of at most 63 characters.
func hostname(o *corev1.Pod) string {
	name := o.Spec.Hostname
	if name == "" {
		name = o.Name
	}
	if len(name) > 63 {
		name = strings.TrimRight(name[:63], "-.")
	}
	return name
}

// resolvConf returns the DNS configuration of a pod (Kubernetes, "DNS for Services and Pods"). server is the cluster's
// DNS server, which also resolves names outside the cluster: a pod does not reach the machine's own resolver.
func resolvConf(o *corev1.Pod, server netip.Addr) string {
	var servers, searches, options []string
	switch o.Spec.DNSPolicy {
	case corev1.DNSNone:
	case corev1.DNSDefault:
		servers = []string{server.String()}
	default:
		servers = []string{server.String()}
		searches = []string{o.Namespace + ".svc." + domain, "svc." + domain, domain}
		options = []string{"ndots:5"}
	}
	if c := o.Spec.DNSConfig; c != nil {
		servers, searches = append(servers, c.Nameservers...), append(searches, c.Searches...)
		for _, option := range c.Options {
			text := option.Name
			if option.Value != nil {
				text += ":" + *option.Value
			}
			options = slices.DeleteFunc(options, func(have string) bool { return strings.HasPrefix(have, option.Name+":") })
			options = append(options, text)
		}
	}
	var b strings.Builder
	for _, s := range servers {
		fmt.Fprintf(&b, "nameserver %s\n", s)
	}
	if len(searches) > 0 {
		fmt.Fprintf(&b, "search %s\n", strings.Join(searches, " "))
	}
	if len(options) > 0 {
		fmt.Fprintf(&b, "options %s\n", strings.Join(options, " "))
	}
	return b.String()
}

// hosts returns the content of /etc/hosts in a pod, as the kubelet writes it.
func hosts(o *corev1.Pod, ip netip.Addr) string {
	var b strings.Builder
	b.WriteString("127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n")
	name := hostname(o)
	if o.Spec.Subdomain != "" {
		name = fmt.Sprintf("%s.%s.%s.svc.%s\t%s", name, o.Spec.Subdomain, o.Namespace, domain, name)
	}
	fmt.Fprintf(&b, "%s\t%s\n", ip, name)
	for _, alias := range o.Spec.HostAliases {
		fmt.Fprintf(&b, "%s\t%s\n", alias.IP, strings.Join(alias.Hostnames, "\t"))
	}
	return b.String()
}
