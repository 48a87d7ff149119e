package node

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/test/long"
)

// policy creates a NetworkPolicy.
func (c *cluster) policy(t *testing.T, namespace, name, spec string) {
	t.Helper()
	p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := yaml.UnmarshalStrict([]byte(spec), &p.Spec); err != nil {
		t.Fatal(err)
	}
	if _, err := c.NetworkingV1().NetworkPolicies(namespace).Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestNetworkPoliciesAreEnforced(t *testing.T) {
	long.Test(t)
	image := appImage(t)
	c := realCluster(t)
	t.Parallel()
	shop, web := c.namespace(t), c.namespace(t)
	c.create(t, shop, "server", server(image))
	// A pod that runs as a process has the same policies.
	c.create(t, shop, "process", corev1.PodSpec{Containers: []corev1.Container{guest("serve")}})
	c.service(t, shop, "server", corev1.ServiceSpec{Selector: map[string]string{"app": "server"}, Ports: port(80, intstr.FromInt32(8080))})
	c.service(t, shop, "process", corev1.ServiceSpec{Selector: map[string]string{"app": "process"}, Ports: port(80, intstr.FromInt32(guestPort))})
	c.create(t, shop, "friend", server(image))
	c.create(t, shop, "other", server(image))
	c.create(t, web, "stranger", server(image))
	c.create(t, web, "limited", server(image))
	for ns, names := range map[string][]string{shop: {"server", "process", "friend", "other"}, web: {"stranger", "limited"}} {
		for _, name := range names {
			c.waitPod(t, ns, name, name+" is ready", isReady)
		}
	}
	url, process := "http://server."+shop+".svc.cluster.local", "process."+shop+".svc.cluster.local:80"
	c.answers(t, web, "stranger", "get", url, "server answers")
	c.answers(t, web, "stranger", "dial", process, "open")

	c.policy(t, shop, "deny", `{podSelector: {}, policyTypes: [Ingress]}`)
	c.answers(t, shop, "friend", "get", url, "failed")
	c.answers(t, web, "stranger", "get", url, "failed")
	c.answers(t, web, "stranger", "dial", process, "failed")
	c.answers(t, shop, "friend", "dial", process, "failed")
	// c.ask itself comes from the node, which no policy denies.
	if got := c.ask(t, shop, "server", "env", "HOSTNAME"); got != "server" {
		t.Errorf("the API server gets %q from a pod with a policy", got)
	}

	c.policy(t, shop, "friend", `{podSelector: {matchLabels: {app: server}}, ingress: [{from: [{podSelector: {matchLabels: {app: friend}}}]}]}`)
	c.answers(t, shop, "friend", "get", url, "server answers")
	c.answers(t, shop, "other", "get", url, "failed")

	c.policy(t, shop, "namespace", `{podSelector: {}, ingress: [{from: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: `+web+`}}}]}]}`)
	c.answers(t, web, "stranger", "get", url, "server answers")
	c.answers(t, web, "stranger", "dial", process, "open")
	c.answers(t, shop, "other", "get", url, "failed")

	c.policy(t, web, "dns-only", `{podSelector: {matchLabels: {app: limited}}, policyTypes: [Egress], egress: [{
		to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}}}], ports: [{protocol: UDP, port: 53}, {protocol: TCP, port: 53}]}]}`)
	c.answers(t, web, "limited", "get", url, "failed")
	if got := c.ask(t, web, "limited", "lookup", "server."+shop+".svc.cluster.local"); !strings.HasPrefix(got, "10.96.") {
		t.Errorf("the pod that may only use DNS looks up %q", got)
	}
}
