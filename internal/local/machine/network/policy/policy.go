// Package policy evaluates NetworkPolicies: whether one pod may open a connection to another address.
package policy

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// A Peer is one end of a connection. Without a Name it is no pod, and only ranges of addresses select it.
type Peer struct {
	IP              netip.Addr
	Namespace, Name string
	Labels          labels.Set
	// NamespaceLabels are the labels of the namespace. The API server adds kubernetes.io/metadata.name to them.
	NamespaceLabels labels.Set
	// Ports are the ports of the pod's containers, which rules may refer to by name.
	Ports []corev1.ContainerPort
}

// Denied is the error of a connection that the policies do not allow.
type Denied struct {
	// Direction is Ingress or Egress: the isolated end.
	Direction networkingv1.PolicyType
	// Pod is the isolated pod, as NAMESPACE/NAME.
	Pod string
	// Policies names the policies that isolate the pod.
	Policies []string
}

// Error names the policies that isolate the pod.
func (d *Denied) Error() string {
	return fmt.Sprintf("no rule of the NetworkPolicies %v allows this %s of pod %s", d.Policies, d.Direction, d.Pod)
}

// Set contains the policies of a cluster. It does not change, so goroutines may share it. Its zero value allows
// everything.
type Set struct {
	byNamespace map[string][]compiled
}

// compiled is a NetworkPolicy with parsed selectors.
type compiled struct {
	name            string
	pods            labels.Selector
	ingress, egress bool
	ingressRules    []rule
	egressRules     []rule
}

// rule allows connections with one of the peers on one of the ports.
type rule struct {
	anyPeer bool
	peers   []peer
	ports   []networkingv1.NetworkPolicyPort
}

// peer selects pods, or addresses if ranges is valid.
type peer struct {
	pods, namespaces labels.Selector
	allowed          netip.Prefix
	except           []netip.Prefix
}

// Compile returns the policies as a Set. A selector or a range that does not parse selects nothing: the API server
// rejects such objects, so this protects only against objects that bypassed it.
func Compile(policies []*networkingv1.NetworkPolicy) *Set {
	s := &Set{byNamespace: map[string][]compiled{}}
	for _, p := range policies {
		c := compiled{name: p.Name, pods: selector(&p.Spec.PodSelector)}
		// The API server's defaults: a policy without types isolates ingress, and egress if it has rules for egress.
		c.ingress = len(p.Spec.PolicyTypes) == 0 || slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress)
		c.egress = slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) ||
			len(p.Spec.PolicyTypes) == 0 && len(p.Spec.Egress) > 0
		for _, r := range p.Spec.Ingress {
			c.ingressRules = append(c.ingressRules, rule{len(r.From) == 0, peers(p.Namespace, r.From), r.Ports})
		}
		for _, r := range p.Spec.Egress {
			c.egressRules = append(c.egressRules, rule{len(r.To) == 0, peers(p.Namespace, r.To), r.Ports})
		}
		s.byNamespace[p.Namespace] = append(s.byNamespace[p.Namespace], c)
	}
	return s
}

func peers(namespace string, from []networkingv1.NetworkPolicyPeer) []peer {
	var all []peer
	for _, f := range from {
		if f.IPBlock != nil {
			all = append(all, block(f.IPBlock))
			continue
		}
		// A peer without a namespaceSelector selects pods of the policy's own namespace, and one without a podSelector
		// selects every pod.
		p := peer{pods: labels.Everything(), namespaces: selector(f.NamespaceSelector)}
		if f.NamespaceSelector == nil {
			p.namespaces = labels.SelectorFromSet(labels.Set{corev1.LabelMetadataName: namespace})
		}
		if f.PodSelector != nil {
			p.pods = selector(f.PodSelector)
		}
		all = append(all, p)
	}
	return all
}

func block(b *networkingv1.IPBlock) peer {
	p := peer{pods: labels.Nothing(), namespaces: labels.Nothing()}
	allowed, err := netip.ParsePrefix(b.CIDR)
	if err != nil {
		return p
	}
	for _, e := range b.Except {
		except, err := netip.ParsePrefix(e)
		if err != nil {
			return p
		}
		p.except = append(p.except, except)
	}
	p.allowed = allowed
	return p
}

func selector(s *metav1.LabelSelector) labels.Selector {
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return labels.Nothing()
	}
	return parsed
}

// Allows returns nil if `from` may connect to a port of `to`, and otherwise a *Denied. A pod may always connect to itself.
func (s *Set) Allows(from, to Peer, protocol corev1.Protocol, port uint16) error {
	if from.Name != "" && from.Name == to.Name && from.Namespace == to.Namespace {
		return nil
	}
	if err := s.check(networkingv1.PolicyTypeEgress, from, to, to, protocol, port); err != nil {
		return err
	}
	return s.check(networkingv1.PolicyTypeIngress, to, from, to, protocol, port)
}

// check checks one direction: the policies that isolate `subject` against the other end. The ports are those of `target`.
func (s *Set) check(direction networkingv1.PolicyType, subject, other, target Peer, protocol corev1.Protocol, port uint16) error {
	if subject.Name == "" || s == nil {
		return nil
	}
	var isolating []string
	for _, p := range s.byNamespace[subject.Namespace] {
		applies, rules := p.ingress, p.ingressRules
		if direction == networkingv1.PolicyTypeEgress {
			applies, rules = p.egress, p.egressRules
		}
		if !applies || !p.pods.Matches(subject.Labels) {
			continue
		}
		for _, r := range rules {
			if r.selects(other) && r.opens(target, protocol, port) {
				return nil
			}
		}
		isolating = append(isolating, p.name)
	}
	if isolating == nil {
		return nil
	}
	slices.Sort(isolating)
	return &Denied{Direction: direction, Pod: subject.Namespace + "/" + subject.Name, Policies: isolating}
}

func (r rule) selects(other Peer) bool {
	return r.anyPeer || slices.ContainsFunc(r.peers, func(p peer) bool {
		if p.allowed.IsValid() {
			return p.allowed.Contains(other.IP) &&
				!slices.ContainsFunc(p.except, func(e netip.Prefix) bool { return e.Contains(other.IP) })
		}
		return other.Namespace != "" && p.namespaces.Matches(other.namespaceLabels()) && p.pods.Matches(other.Labels)
	})
}

// namespaceLabels returns the labels of the peer's namespace, with its name even if the labels are not known yet.
func (p Peer) namespaceLabels() labels.Set {
	return labels.Merge(p.NamespaceLabels, labels.Set{corev1.LabelMetadataName: p.Namespace})
}

func (r rule) opens(target Peer, protocol corev1.Protocol, port uint16) bool {
	return len(r.ports) == 0 || slices.ContainsFunc(r.ports, func(p networkingv1.NetworkPolicyPort) bool {
		wanted := corev1.ProtocolTCP
		if p.Protocol != nil {
			wanted = *p.Protocol
		}
		switch {
		case wanted != protocol:
			return false
		case p.Port == nil:
			return true
		case p.Port.StrVal != "":
			return slices.ContainsFunc(target.Ports, func(c corev1.ContainerPort) bool {
				return c.Name == p.Port.StrVal && c.ContainerPort == int32(port) && protocolOf(c) == protocol
			})
		case p.EndPort != nil:
			return int32(port) >= p.Port.IntVal && int32(port) <= *p.EndPort
		}
		return int32(port) == p.Port.IntVal
	})
}

func protocolOf(c corev1.ContainerPort) corev1.Protocol {
	if c.Protocol == "" {
		return corev1.ProtocolTCP
	}
	return c.Protocol
}
