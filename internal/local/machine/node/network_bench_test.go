package node

import (
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/strata-platform/strata/test/bench/figure"
)

// BenchmarkServiceBetweenSandboxedPods sends one gigabit, and then 2000 requests, from a sandboxed pod to a Service of another.
func BenchmarkServiceBetweenSandboxedPods(b *testing.B) {
	image := appImage(b)
	c := realCluster(b)
	ns := c.namespace(b)
	spec := server(image)
	spec.Containers[0].Args = []string{"sink", ":9000", ":8080"}
	c.create(b, ns, "web", spec)
	c.create(b, ns, "client", server(image))
	c.service(b, ns, "web", corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{
		{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}, {Name: "sink", Port: 9000}}})
	c.waitPod(b, ns, "web", "the pod is ready", isReady)
	c.waitPod(b, ns, "client", "the client is ready", isReady)
	c.answers(b, ns, "client", "get", "http://web", "web answers")
	seconds := func(what, argument string) time.Duration {
		text := c.ask(b, ns, "client", what, argument)
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			b.Fatalf("%s %s: %s", what, argument, text)
		}
		return time.Duration(value * float64(time.Second))
	}
	var poured, requested time.Duration
	for b.Loop() {
		poured += seconds("pour", "web:9000")
		requested += seconds("requests", "http://web")
	}
	figure.Seconds(b, "sandboxed pods: send 1 Gbit through a Service", poured/time.Duration(b.N), time.Second)
	figure.Seconds(b, "sandboxed pods: 2000 requests through a Service", requested/time.Duration(b.N), time.Second)
}
