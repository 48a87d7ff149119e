package fluxcd

import (
	"encoding/json"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/components/fluxcd/internal/hardening"
)

// peer is a pod in a namespace, or an address.
type peer struct{ namespace, app, address string }

var (
	source       = peer{namespace: Namespace, app: "source-controller"}
	builder      = peer{namespace: Namespace, app: "kustomize-controller"}
	helm         = peer{namespace: Namespace, app: "helm-controller"}
	notification = peer{namespace: Namespace, app: "notification-controller"}
	automation   = peer{namespace: Namespace, app: "image-automation-controller"}
	teamPod      = peer{namespace: "team-web", app: "web"}
	names        = peer{namespace: "kube-system", app: "kube-dns"}
	api          = peer{address: "34.118.0.7"}
	forge        = peer{address: "140.82.121.3"}
	metadataIP   = peer{address: "169.254.169.254"}
	privateGit   = peer{address: "10.8.0.9"}
	otherPod     = peer{address: "10.4.0.9"}
)

func TestFluxReachesWhatItNeedsAndNothingElse(t *testing.T) {
	policies := append(madePolicies(t), bundled(t)...)
	for _, each := range []struct {
		from, to peer
		port     int32
		passes   bool
	}{
		// Connections that a build needs, and connections that it has tried.
		{builder, names, 53, true},
		{builder, api, 6443, true},
		{builder, source, 9090, true},
		{builder, notification, 9090, true},
		{builder, api, 80, false},
		{builder, forge, 443, false},
		{builder, metadataIP, 80, false},
		{builder, privateGit, 443, true}, // The control plane's range.
		{builder, privateGit, 80, false},
		{builder, privateGit, 3306, false},
		{builder, otherPod, 80, false},
		{builder, teamPod, 80, false},
		{builder, source, 8080, false},
		{builder, helm, 9440, false},
		{builder, notification, 9292, false},

		{helm, api, 6443, true},
		{helm, source, 9090, true},
		{helm, notification, 9090, true},
		{helm, forge, 443, false},
		{helm, metadataIP, 80, false},

		{source, forge, 443, true},
		{source, forge, 22, true},
		{source, privateGit, 3000, true},
		{source, privateGit, 3306, false},
		{source, api, 6443, true},
		{source, notification, 9090, true},
		{source, metadataIP, 80, false},
		{source, otherPod, 80, false},
		{source, teamPod, 80, false},
		{source, builder, 9440, false},

		{notification, api, 6443, true},
		{notification, forge, 443, true},
		{notification, metadataIP, 80, false},
		{notification, otherPod, 80, false},
		{notification, source, 9090, false},

		{automation, forge, 443, true},
		{automation, notification, 9090, true},

		// Pods that post events, and pods that read artifacts. The policies of their own namespace limit teams' pods too.
		{teamPod, notification, 9090, false},
		{teamPod, notification, 9292, true},
		{teamPod, source, 9090, false},
		{teamPod, builder, 9440, false},
		{otherPod, source, 9090, false},
	} {
		if got := passes(t, policies, each.from, each.to, each.port); got != each.passes {
			t.Errorf("from %v to %v at port %d passes: %v, want %v", each.from, each.to, each.port, got, each.passes)
		}
	}
}

// madePolicies returns the component's policies in the form in which the API server receives them.
func madePolicies(t *testing.T) []networkingv1.NetworkPolicy {
	t.Helper()
	got, err := run(t, func(ctx *pulumi.Context, cluster pulumi.ResourceOption) error {
		args := minimal()
		args.Kubeconfig = pulumi.String(strings.Replace(exampleKubeconfig, "127.0.0.1", api.address, 1))
		args.PrivateRanges, args.SourcePorts = pulumi.ToStringArray([]string{"10.8.0.0/24"}), []int{3000}
		_, err := NewFlux(ctx, "flux", args, cluster)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var policies []networkingv1.NetworkPolicy
	for _, each := range got {
		if each.TypeToken == policyType {
			content, err := json.Marshal(plain(each.Inputs))
			if err != nil {
				t.Fatal(err)
			}
			policies = append(policies, parsePolicy(t, content))
		}
	}
	return policies
}

func parsePolicy(t *testing.T, content []byte) networkingv1.NetworkPolicy {
	t.Helper()
	var policy networkingv1.NetworkPolicy
	if err := yaml.UnmarshalStrict(content, &policy); err != nil {
		t.Fatal(err)
	}
	return policy
}

// bundled returns Flux's own policies after the component's changes.
func bundled(t *testing.T) []networkingv1.NetworkPolicy {
	t.Helper()
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/fluxcd/flux2/v2").Output()
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(module)), "manifests/policies/allow-*.yaml"))
	if err != nil || len(found) == 0 {
		t.Fatalf("found no policies of Flux: %v", err)
	}
	disk := filesys.MakeFsInMemory()
	var all []string
	for _, each := range found {
		content, err := os.ReadFile(each)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(content))
	}
	for name, content := range map[string]string{
		"gotk-components.yaml": strings.Join(all, "\n---\n"), "gotk-sync.yaml": "# none\n", "kustomization.yaml": hardening.Kustomization(Namespace, 1),
	} {
		if err := disk.WriteFile("/flux/"+name, []byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, "/flux")
	if err != nil {
		t.Fatal(err)
	}
	var policies []networkingv1.NetworkPolicy
	for _, each := range resources.Resources() {
		content, err := each.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		policies = append(policies, parsePolicy(t, content))
	}
	return policies
}

// passes reports whether the policies of Flux's namespace allow a connection, in both directions.
func passes(t *testing.T, policies []networkingv1.NetworkPolicy, from, to peer, port int32) bool {
	t.Helper()
	direction := func(pod, other peer, kind networkingv1.PolicyType) bool {
		held := false
		for _, policy := range policies {
			if pod.namespace != Namespace || !selects(t, &policy.Spec.PodSelector, labels.Set{"app": pod.app}) || !slices.Contains(policy.Spec.PolicyTypes, kind) {
				continue
			}
			held = true
			if kind == networkingv1.PolicyTypeEgress {
				for _, rule := range policy.Spec.Egress {
					if matches(t, rule.To, rule.Ports, other, port) {
						return true
					}
				}
				continue
			}
			for _, rule := range policy.Spec.Ingress {
				if matches(t, rule.From, rule.Ports, other, port) {
					return true
				}
			}
		}
		return !held
	}
	return direction(from, to, networkingv1.PolicyTypeEgress) && direction(to, from, networkingv1.PolicyTypeIngress)
}

// matches reports whether a rule matches a peer and a TCP port.
func matches(t *testing.T, peers []networkingv1.NetworkPolicyPeer, ports []networkingv1.NetworkPolicyPort, other peer, port int32) bool {
	t.Helper()
	at := len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		return (p.Protocol == nil || *p.Protocol == "TCP") && p.Port.IntVal == port
	})
	return at && (len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		if p.IPBlock != nil {
			return other.address != "" && within(p.IPBlock.CIDR, other.address) &&
				!slices.ContainsFunc(p.IPBlock.Except, func(except string) bool { return within(except, other.address) })
		}
		namespace := other.namespace == Namespace
		if p.NamespaceSelector != nil {
			namespace = selects(t, p.NamespaceSelector, labels.Set{"kubernetes.io/metadata.name": other.namespace})
		}
		return other.address == "" && namespace && (p.PodSelector == nil || selects(t, p.PodSelector, labels.Set{"app": other.app}))
	}))
}

func within(cidr, address string) bool {
	return netip.MustParsePrefix(cidr).Contains(netip.MustParseAddr(address))
}

func selects(t *testing.T, selector *metav1.LabelSelector, of labels.Set) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return s.Matches(of)
}
