package node

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/strata-platform/strata/internal/local/machine/network/httpbackend"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/podnetwork/google"
	"github.com/strata-platform/strata/test/long"
)

// instanceAddress is the loopback address of a Cloud SQL instance.
const instanceAddress = "127.77.66.55"

// testGoogle is an emulated Google Cloud with one instance.
func testGoogle() *google.Cloud {
	return &google.Cloud{
		Hosts: []string{"sqladmin.googleapis.com"},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"ipAddress":%q}`, google.Seen(instanceAddress))
		}),
		TLS: &tls.Config{MinVersion: tls.VersionTLS12},
		Metadata: func(accounts google.Accounts) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				pod, _ := httpbackend.Pod(r.Context())
				account, googleAccount, err := accounts(r.Context(), pod)
				fmt.Fprintf(w, "account %s, Google account %q, %v", account, googleAccount, err)
			})
		},
		Instances: func() []netip.Addr { return []netip.Addr{netip.MustParseAddr(instanceAddress)} },
	}
}

// server returns the spec of a pod that serves HTTP at port 8080.
func server(image string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name: "main", Image: image, Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
	}}, TerminationGracePeriodSeconds: ptr.To[int64](0)}
}

// service creates a Service.
func (c *cluster) service(t testing.TB, namespace, name string, spec corev1.ServiceSpec) *corev1.Service {
	t.Helper()
	made, err := c.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// ask makes a pod perform something in its network, over the API server's proxy.
func (c *cluster) ask(t testing.TB, namespace, pod, what, argument string) string {
	t.Helper()
	answer, err := c.CoreV1().Pods(namespace).ProxyGet("http", pod, "8080", "/", map[string]string{what: argument}).DoRaw(t.Context())
	if err != nil {
		return "failed: " + err.Error()
	}
	return string(answer)
}

// answers waits until a pod gets an answer with a text.
func (c *cluster) answers(t testing.TB, namespace, pod, what, argument, want string) {
	t.Helper()
	nodetest.Eventually(t, fmt.Sprintf("pod %s gets %q for %s %s", pod, want, what, argument), func() error {
		if got := c.ask(t, namespace, pod, what, argument); !strings.Contains(got, want) {
			return fmt.Errorf("it got %q", got)
		}
		return nil
	})
}

func port(number int32, target intstr.IntOrString) []corev1.ServicePort {
	return []corev1.ServicePort{{Port: number, TargetPort: target}}
}

func TestPodsReachServices(t *testing.T) {
	long.Test(t)
	image := appImage(t)
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	web := map[string]string{"app": "web"}
	number, name := intstr.FromInt32(8080), intstr.FromString("http")
	cluster := c.service(t, ns, "web", corev1.ServiceSpec{Selector: web, Ports: port(80, number)})
	c.service(t, ns, "named", corev1.ServiceSpec{Selector: web, Ports: port(81, name)})
	c.service(t, ns, "sidecar", corev1.ServiceSpec{Selector: web, Ports: port(80, intstr.FromString("side"))})
	c.service(t, ns, "packets", corev1.ServiceSpec{Selector: web, Ports: []corev1.ServicePort{{Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(5353)}}})
	c.service(t, ns, "headless", corev1.ServiceSpec{ClusterIP: "None", Selector: web, Ports: port(80, number)})
	c.service(t, ns, "away", corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "web." + ns + ".svc.cluster.local"})
	c.service(t, ns, "empty", corev1.ServiceSpec{Selector: map[string]string{"app": "none"}, Ports: port(80, number)})
	both := map[string]string{"kind": "replica"}
	c.service(t, ns, "sticky", corev1.ServiceSpec{Selector: both, SessionAffinity: corev1.ServiceAffinityClientIP, Ports: port(80, number)})

	spec := server(image)
	spec.Hostname, spec.Subdomain = "first", "headless"
	spec.Containers[0].Args = []string{"serve-udp", ":5353", ":8080"}
	spec.InitContainers = []corev1.Container{{
		Name: "side", Image: image, Args: []string{"serve", ":9090"}, RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
		Ports: []corev1.ContainerPort{{Name: "side", ContainerPort: 9090}},
	}}
	c.create(t, ns, "web", spec)
	for _, replica := range []string{"one", "two"} {
		if _, err := c.CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: replica, Labels: both}, Spec: server(image)}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ip := c.waitPod(t, ns, "web", "the pod web is ready", isReady).Status.PodIP
	c.waitPod(t, ns, "one", "the pod one is ready", isReady)
	c.waitPod(t, ns, "two", "the pod two is ready", isReady)

	instance, err := net.Listen("tcp", instanceAddress+":3306")
	if err != nil {
		t.Fatal(err)
	}
	database := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "the instance answers")
	})}
	go func() { _ = database.Serve(instance) }()
	t.Cleanup(func() { database.Close() })

	domain := "." + ns + ".svc.cluster.local"
	for name, row := range map[string]struct{ what, argument, want string }{
		"a cluster IP by its full name":              {"get", "http://web" + domain, "first answers"},
		"a cluster IP by its short name":             {"get", "http://web", "first answers"},
		"a cluster IP by its variables":              {"env", "WEB_SERVICE_HOST", cluster.Spec.ClusterIP},
		"a named port":                               {"get", "http://named:81", "first answers"},
		"the port of a sidecar":                      {"get", "http://sidecar", "first answers"},
		"a UDP port":                                 {"udp", "packets:53", "first answers hello"},
		"a headless Service has the pods' addresses": {"lookup", "headless" + domain, ip},
		"a pod by its host name":                     {"lookup", "first.headless" + domain, ip},
		"an ExternalName":                            {"get", "http://away", "first answers"},
		"a pod by its address":                       {"get", "http://" + ip + ":8080", "first answers"},
		"the API server":                             {"dial", "kubernetes.default:443", "open"},
		"the emulated Google Cloud":                  {"get", "http://sqladmin.googleapis.com/sql/v1beta4/projects/p/instances/i", `{"ipAddress":"240.77.66.55"}`},
		"the metadata server":                        {"get", "http://metadata.google.internal/", `account default, Google account "", <nil>`},
		"a Cloud SQL instance":                       {"get", "http://240.77.66.55:3306", "the instance answers"},
		"no other loopback address: refused":         {"dial", "240.0.0.1:3306", "refused"},
		"no endpoint: refused":                       {"dial", "empty:80", "refused"},
		"no such Service: unknown":                   {"lookup", "nothing" + domain, "no such host"},
		"no other link-local address: refused":       {"dial", "169.254.169.253:80", "refused"},
	} {
		t.Run(name, func(t *testing.T) { c.answers(t, ns, "one", row.what, row.argument, row.want) })
	}
	t.Run("a session keeps its pod", func(t *testing.T) {
		c.answers(t, ns, "web", "get", "http://sticky", "answers")
		first, _, _ := strings.Cut(c.ask(t, ns, "web", "get", "http://sticky"), " ")
		for range 15 {
			if again := c.ask(t, ns, "web", "get", "http://sticky"); !strings.HasPrefix(again, first) {
				t.Fatalf("%q answers after %q", again, first)
			}
		}
	})
	t.Run("the host's loopback is no loopback of a pod", func(t *testing.T) {
		node, err := c.home.Port(PortName)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.ask(t, ns, "one", "dial", fmt.Sprintf("127.0.0.1:%d", node)); !strings.Contains(got, "refused") {
			t.Errorf("the pod gets %q from the node's port, want it refused", got)
		}
	})
}

// TestPodsReachTheNodeAndOtherPods checks the address of the node inside pods, and a hook that names another pod.
func TestPodsReachTheNodeAndOtherPods(t *testing.T) {
	image := appImage(t)
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	s := c.service(t, ns, "web", corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Selector: map[string]string{"app": "web"}, Ports: port(80, intstr.FromInt32(8080))})
	c.create(t, ns, "web", server(image))
	web := c.waitPod(t, ns, "web", "the pod web is ready", isReady)

	asks := server(image)
	asks.Containers[0].Env = []corev1.EnvVar{{Name: "NODE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.hostIP"}}}}
	// Only the other pod serves this port: a hook that ignores the host fails, and the pod is never ready.
	asks.Containers[0].Args = []string{"serve", ":9090"}
	asks.Containers[0].Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{
		HTTPGet: &corev1.HTTPGetAction{Host: web.Status.PodIP, Port: intstr.FromInt32(8080)},
	}}
	c.create(t, ns, "hooked", asks)
	hooked := c.waitPod(t, ns, "hooked", "the hook reaches the other pod", isReady)

	asks.Containers[0].Lifecycle = nil
	asks.RestartPolicy = corev1.RestartPolicyNever
	asks.Containers[0].Args = []string{"get", fmt.Sprintf("http://$(NODE):%d/", s.Spec.Ports[0].NodePort)}
	c.create(t, ns, "client", asks)
	c.waitPod(t, ns, "client", "the client reaches the node port", succeeded)
	if text := c.log(ns, "client", "main"); !strings.Contains(text, "web answers ") {
		t.Errorf("the client printed %q, want an answer of the pod web", text)
	}
	node, err := c.CoreV1().Nodes().Get(t.Context(), hooked.Spec.NodeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && a.Address != hooked.Status.HostIP {
			t.Errorf("the host IP of the pod is %s, and the node has the address %s", hooked.Status.HostIP, a.Address)
		}
	}
}
