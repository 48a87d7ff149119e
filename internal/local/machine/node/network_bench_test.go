package node

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/strata-platform/strata/internal/local/machine/loadbalancer"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest/load"
	"github.com/strata-platform/strata/test/bench/figure"
)

// BenchmarkServiceBetweenSandboxedPods sends one gigabit, and then 2000 requests, from a sandboxed pod to a Service of
// another. The client has the address of the Service, so that it asks no DNS server.
func BenchmarkServiceBetweenSandboxedPods(b *testing.B) {
	image := appImage(b)
	c, ns, web := served(b, image, corev1.ServiceTypeClusterIP)
	c.create(b, ns, "client", server(image))
	c.waitPod(b, ns, "client", "the client is ready", isReady)
	page, sink := net.JoinHostPort(web.Spec.ClusterIP, "80"), net.JoinHostPort(web.Spec.ClusterIP, "9000")
	c.answers(b, ns, "client", "get", "http://"+page, "web answers")
	measure(b, "sandboxed pods", func(what string) (time.Duration, error) {
		address := page
		if what == "pour" {
			address = sink
		}
		text := c.ask(b, ns, "client", what, address)
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, fmt.Errorf("the client answers %q", text)
		}
		return time.Duration(seconds * float64(time.Second)), nil
	})
}

// BenchmarkServiceFromThisMachine is the same from this machine, to the loopback address of a load balancer.
func BenchmarkServiceFromThisMachine(b *testing.B) {
	c, ns, _ := served(b, appImage(b), corev1.ServiceTypeLoadBalancer)
	var addresses []string
	nodetest.Eventually(b, "the load balancer has addresses", func() error {
		s, err := c.CoreV1().Services(ns).Get(b.Context(), "web", metav1.GetOptions{})
		if addresses = strings.Split(s.Annotations[loadbalancer.Annotation], ","); err != nil || len(addresses) != 2 {
			return fmt.Errorf("its annotations are %v, %w", s.Annotations, err)
		}
		return nil
	})
	nodetest.Eventually(b, "the Service answers", func() error {
		_, err := load.Requests(addresses[0], load.PerClient)
		return err
	})
	measure(b, "this machine to a sandboxed pod", func(what string) (time.Duration, error) {
		switch what {
		case "pour":
			return load.Gigabit(addresses[1])
		case "requests":
			return load.Requests(addresses[0], load.PerClient)
		}
		return load.Requests(addresses[0], 1)
	})
}

// measure reports the mean times of what a client does with a Service.
func measure(b *testing.B, who string, perform func(what string) (time.Duration, error)) {
	b.Helper()
	took := map[string]time.Duration{}
	for b.Loop() {
		for _, what := range []string{"pour", "requests", "connections"} {
			one, err := perform(what)
			if err != nil {
				b.Fatalf("%s: %s: %v", who, what, err)
			}
			took[what] += one
		}
	}
	rounds := time.Duration(b.N)
	figure.Seconds(b, who+": send 1 Gbit through a Service", took["pour"]/rounds, time.Second)
	figure.Seconds(b, who+": 2000 requests through a Service, 8 connections", took["requests"]/rounds, time.Second)
	figure.Seconds(b, who+": 2000 requests through a Service, 2000 connections", took["connections"]/rounds, 0)
}

// served creates a pod that serves HTTP and reads what other connections send, and its Service web.
func served(b *testing.B, image string, kind corev1.ServiceType) (c *cluster, ns string, web *corev1.Service) {
	b.Helper()
	c = realCluster(b)
	ns = c.namespace(b)
	spec := server(image)
	spec.Containers[0].Args = []string{"sink", ":9000", ":8080"}
	c.create(b, ns, "web", spec)
	web = c.service(b, ns, "web", corev1.ServiceSpec{Type: kind, Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{
		{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}, {Name: "sink", Port: 9000}}})
	c.waitPod(b, ns, "web", "the pod is ready", isReady)
	return c, ns, web
}
