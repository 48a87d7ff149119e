package pod

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime/simulated"
)

type servicePort struct {
	port corev1.ServicePort
	want bool
}

func servicePorts() map[string]servicePort {
	to := func(target intstr.IntOrString) corev1.ServicePort {
		return corev1.ServicePort{Port: 80, TargetPort: target}
	}
	return map[string]servicePort{
		"a declared number":           {to(intstr.FromInt32(8080)), true},
		"a declared name":             {to(intstr.FromString("metrics")), true},
		"a port of the catalogue":     {to(intstr.FromInt32(9999)), true},
		"a number that nobody names":  {to(intstr.FromInt32(7070)), false},
		"a name that nobody declares": {to(intstr.FromString("admin")), false},
	}
}

func TestServesOnlyThePortThatAServiceMeans(t *testing.T) {
	p := New(newHost(t), nodetest.Pod(corev1.PodSpec{Containers: []corev1.Container{{
		Name: "a", Image: "example.com/program:v1",
		Ports: []corev1.ContainerPort{{ContainerPort: 8080}, {Name: "metrics", ContainerPort: 9090}},
	}}}))
	c := p.containers[0]
	c.run = fakeRun{}
	ports := servicePorts()
	for name := range ports {
		if c.serves(ports[name].port) {
			t.Errorf("a container that is not ready serves %s", name)
		}
	}
	c.ready = true
	for name, test := range ports {
		if got := c.serves(test.port); got != test.want {
			t.Errorf("serves %s is %v, want %v", name, got, test.want)
		}
	}
	if port := ports["a declared number"].port; p.Endpoint(port) == nil {
		t.Error("a pod with a ready container has no endpoint")
	}
	c.choice.Runtime = simulated.Runtime{}
	if c.serves(ports["a declared number"].port) {
		t.Error("a simulated container serves a port")
	}
}

func TestAPortMayHaveAName(t *testing.T) {
	spec := corev1.Container{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}}}
	for port, want := range map[intstr.IntOrString]string{
		intstr.FromInt32(8080):    "fake:8080",
		intstr.FromInt32(9090):    "fake:9090",
		intstr.FromString("http"): "fake:8080",
		intstr.FromString("none"): "fake:0",
	} {
		if got := (target{fakeRun{}, &spec, nil}).Address("", port); got != want {
			t.Errorf("the address of port %s is %s, want %s", port.String(), got, want)
		}
	}
}

func TestAProbeReachesAnotherHostForItsPod(t *testing.T) {
	host := newHost(t)
	host.DialAs = func(_ context.Context, pod types.NamespacedName, to netip.AddrPort) (net.Conn, error) {
		return nil, fmt.Errorf("pod %s dials %s", pod.Name, to)
	}
	p := New(host, nodetest.Pod(corev1.PodSpec{Containers: []corev1.Container{{
		Name: "a", Image: "example.com/program:v1", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}},
	}}}))
	for host, want := range map[string]string{
		"10.128.0.9":  "pod one dials 10.128.0.9:8080",
		"example.com": "is not an IP address",
	} {
		_, err := p.containers[0].lastRun().Reach(t.Context(), host, intstr.FromString("http"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error for host %s is %v, want %q in it", host, err, want)
		}
	}
}
