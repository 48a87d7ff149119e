package policy

import (
	"errors"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"
)

var (
	web    = Peer{IP: netip.MustParseAddr("10.244.0.2"), Namespace: "shop", Name: "web", Labels: labels.Set{"app": "web"}, NamespaceLabels: labels.Set{"team": "shop"}}
	db     = Peer{IP: netip.MustParseAddr("10.244.0.3"), Namespace: "shop", Name: "db", Labels: labels.Set{"app": "db"}, NamespaceLabels: labels.Set{"team": "shop"}, Ports: []corev1.ContainerPort{{Name: "mysql", ContainerPort: 3306}, {Name: "dns", ContainerPort: 53, Protocol: corev1.ProtocolUDP}}}
	batch  = Peer{IP: netip.MustParseAddr("10.244.0.4"), Namespace: "jobs", Name: "batch", Labels: labels.Set{"app": "web"}, NamespaceLabels: labels.Set{"team": "jobs"}}
	public = Peer{IP: netip.MustParseAddr("1.1.1.1")}
)

func TestAllows(t *testing.T) {
	const tcp, udp = corev1.ProtocolTCP, corev1.ProtocolUDP
	for name, c := range map[string]struct {
		policies []string // the specs of policies in the namespace shop
		from, to Peer
		protocol corev1.Protocol
		port     uint16
		want     bool
	}{
		"without policies everything is allowed":               {nil, batch, db, tcp, 1, true},
		"a policy without rules isolates its pods":             {[]string{`{podSelector: {matchLabels: {app: db}}}`}, web, db, tcp, 3306, false},
		"and not the other pods":                               {[]string{`{podSelector: {matchLabels: {app: db}}}`}, db, web, tcp, 80, true},
		"nor the egress of its pods":                           {[]string{`{podSelector: {matchLabels: {app: db}}}`}, db, public, tcp, 80, true},
		"nor pods in other namespaces":                         {[]string{`{podSelector: {}}`}, web, batch, tcp, 80, true},
		"a pod reaches itself":                                 {[]string{`{podSelector: {}, policyTypes: [Ingress, Egress]}`}, db, db, tcp, 80, true},
		"an empty rule allows everything":                      {[]string{`{podSelector: {}, ingress: [{}]}`}, public, db, udp, 9, true},
		"a podSelector selects pods":                           {[]string{`{podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {app: web}}}]}]}`}, web, db, tcp, 1, true},
		"but only of the policy's namespace":                   {[]string{`{podSelector: {}, ingress: [{from: [{podSelector: {matchLabels: {app: web}}}]}]}`}, batch, db, tcp, 1, false},
		"an empty podSelector does not select other addresses": {[]string{`{podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}`}, public, db, tcp, 1, false},
		"a namespaceSelector selects every pod of a namespace": {[]string{`{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: jobs}}}]}]}`}, batch, db, tcp, 1, true},
		"a namespace is selected by its name":                  {[]string{`{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: jobs}}}]}]}`}, batch, db, tcp, 1, true},
		"both selectors of a peer must match":                  {[]string{`{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: jobs}}, podSelector: {matchLabels: {app: db}}}]}]}`}, batch, db, tcp, 1, false},
		"one of two peers is enough":                           {[]string{`{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {team: jobs}}}, {podSelector: {matchLabels: {app: db}}}]}]}`}, batch, db, tcp, 1, true},
		"the rules of two policies add up":                     {[]string{`{podSelector: {}}`, `{podSelector: {matchLabels: {app: db}}, ingress: [{from: [{namespaceSelector: {}}]}]}`}, batch, db, tcp, 1, true},
		"an ipBlock selects addresses":                         {[]string{`{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 1.1.0.0/16}}]}]}`}, public, db, tcp, 1, true},
		"an ipBlock selects pods by their addresses":           {[]string{`{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 10.244.0.4/32}}]}]}`}, batch, db, tcp, 1, true},
		"an exception of an ipBlock is denied":                 {[]string{`{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 1.1.0.0/16, except: [1.1.1.0/24]}}]}]}`}, public, db, tcp, 1, false},
		"an invalid ipBlock selects nothing":                   {[]string{`{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: everything}}]}]}`}, public, db, tcp, 1, false},
		"an invalid exception closes its ipBlock":              {[]string{`{podSelector: {}, ingress: [{from: [{ipBlock: {cidr: 0.0.0.0/0, except: [x]}}]}]}`}, public, db, tcp, 1, false},
		"a port is allowed":                                    {[]string{`{podSelector: {}, ingress: [{ports: [{port: 80}]}]}`}, web, db, tcp, 80, true},
		"another port is not":                                  {[]string{`{podSelector: {}, ingress: [{ports: [{port: 80}]}]}`}, web, db, tcp, 81, false},
		"a port without a protocol is TCP":                     {[]string{`{podSelector: {}, ingress: [{ports: [{port: 80}]}]}`}, web, db, udp, 80, false},
		"a protocol without a port is every port":              {[]string{`{podSelector: {}, ingress: [{ports: [{protocol: UDP}]}]}`}, web, db, udp, 80, true},
		"the last port of a range is allowed":                  {[]string{`{podSelector: {}, ingress: [{ports: [{port: 80, endPort: 90}]}]}`}, web, db, tcp, 90, true},
		"the port after a range is not":                        {[]string{`{podSelector: {}, ingress: [{ports: [{port: 80, endPort: 90}]}]}`}, web, db, tcp, 91, false},
		"a named port is the container's":                      {[]string{`{podSelector: {}, ingress: [{ports: [{port: mysql}]}]}`}, web, db, tcp, 3306, true},
		"a named port has a protocol":                          {[]string{`{podSelector: {}, ingress: [{ports: [{port: dns}]}]}`}, web, db, tcp, 53, false},
		"a named UDP port is allowed":                          {[]string{`{podSelector: {}, ingress: [{ports: [{port: dns, protocol: UDP}]}]}`}, web, db, udp, 53, true},
		"an unknown named port is none":                        {[]string{`{podSelector: {}, ingress: [{ports: [{port: http}]}]}`}, web, db, tcp, 80, false},
		"egress without rules is denied":                       {[]string{`{podSelector: {matchLabels: {app: web}}, policyTypes: [Egress]}`}, web, public, tcp, 80, false},
		"ingress stays open with egress alone":                 {[]string{`{podSelector: {matchLabels: {app: web}}, policyTypes: [Egress]}`}, batch, web, tcp, 80, true},
		"rules for egress isolate without a type":              {[]string{`{podSelector: {matchLabels: {app: web}}, egress: [{to: [{podSelector: {}}]}]}`}, web, public, tcp, 80, false},
		"egress to a named port of the server is allowed":      {[]string{`{podSelector: {matchLabels: {app: web}}, policyTypes: [Egress], egress: [{ports: [{port: mysql}]}]}`}, web, db, tcp, 3306, true},
		"egress to an ipBlock is allowed":                      {[]string{`{podSelector: {}, policyTypes: [Egress], egress: [{to: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.0.0.0/8]}}]}]}`}, web, public, tcp, 80, true},
		"both ends must allow a connection":                    {[]string{`{podSelector: {matchLabels: {app: web}}, policyTypes: [Egress], egress: [{}]}`, `{podSelector: {matchLabels: {app: db}}}`}, web, db, tcp, 80, false},
		"an invalid selector of a rule selects nothing":        {[]string{`{podSelector: {}, ingress: [{from: [{podSelector: {matchExpressions: [{key: app, operator: Near}]}}]}]}`}, web, db, tcp, 80, false},
	} {
		t.Run(name, func(t *testing.T) {
			var all []*networkingv1.NetworkPolicy
			for _, text := range c.policies {
				p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p"}}
				if err := yaml.UnmarshalStrict([]byte(text), &p.Spec); err != nil {
					t.Fatal(err)
				}
				all = append(all, p)
			}
			err := Compile(all).Allows(c.from, c.to, c.protocol, c.port)
			if (err == nil) != c.want {
				t.Errorf("Allows returned %v", err)
			}
			if denied := (*Denied)(nil); err != nil && !errors.As(err, &denied) {
				t.Errorf("Allows returned %T; want *Denied", err)
			}
		})
	}
}

func TestADenialNamesThePolicies(t *testing.T) {
	isolate := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "isolate"}}
	err := Compile([]*networkingv1.NetworkPolicy{isolate}).Allows(web, db, corev1.ProtocolTCP, 3306)
	if want := "no rule of the NetworkPolicies [isolate] allows this Ingress of pod shop/db"; err == nil || err.Error() != want {
		t.Errorf("the error is %v; want %s", err, want)
	}
}
