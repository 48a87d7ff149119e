package pod

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/strata-platform/strata/internal/local/machine/node/probe"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// Endpoint implements service.Pod. Simulated containers have no endpoints.
func (p *Pod) Endpoint(port corev1.ServicePort) func(ctx context.Context) (net.Conn, error) {
	for _, c := range p.all() {
		if c.serves(port) {
			return func(ctx context.Context) (net.Conn, error) {
				return c.lastRun().Dial(ctx, port.TargetPort)
			}
		}
	}
	return nil
}

// serves reports whether a container is ready and listens on a Service's target port.
func (c *container) serves(port corev1.ServicePort) bool {
	c.pod.mu.Lock()
	ready, run := c.ready && c.choice.Runtime.Executes(), c.run
	c.pod.mu.Unlock()
	if !ready || run == nil {
		return false
	}
	if port.TargetPort.Type == intstr.String {
		return slices.ContainsFunc(c.spec.Ports, func(p corev1.ContainerPort) bool { return p.Name == port.TargetPort.StrVal })
	}
	return c.listens(run, port.TargetPort.IntVal)
}

// listens reports whether a run of the container listens on a port, or the container declares the port.
func (c *container) listens(run runtime.Run, port int32) bool {
	return run.Listens(port) || slices.ContainsFunc(c.spec.Ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == port })
}

// prober returns the prober of the container's last run.
func (c *container) prober() probe.Prober {
	c.pod.mu.Lock()
	image := c.name
	c.pod.mu.Unlock()
	return probe.Prober{Spec: c.spec, Image: image, Target: c.lastRun()}
}

// lastRun returns the container's last run.
func (c *container) lastRun() target {
	c.pod.mu.Lock()
	defer c.pod.mu.Unlock()
	return target{c.run, c.spec, c.pod.reach}
}

// target is a run of a container as a probe.Target: the container's spec gives names to the run's ports.
type target struct {
	run   runtime.Run
	spec  *corev1.Container
	reach func(context.Context, netip.AddrPort) (net.Conn, error)
}

// Exec implements probe.Target.
func (t target) Exec(ctx context.Context, command []string) error { return t.run.Exec(ctx, command) }

// Address implements probe.Target.
func (t target) Address(host string, port intstr.IntOrString) string {
	if host == "" {
		return t.run.Address(t.number(port))
	}
	return net.JoinHostPort(host, strconv.Itoa(int(t.number(port))))
}

// Dial implements probe.Target.
func (t target) Dial(ctx context.Context, port intstr.IntOrString) (net.Conn, error) {
	return t.run.Dial(ctx, t.number(port))
}

// Reach implements probe.Target. Kubelets connect from the node to any host that a probe or hook names. A pod of this node
// must not use the node's network, so the connection has the pod's own rights. Names would need the pod's resolver.
func (t target) Reach(ctx context.Context, host string, port intstr.IntOrString) (net.Conn, error) {
	address, err := netip.ParseAddr(host)
	if err != nil {
		return nil, fmt.Errorf("the host %q of the probe or hook is not an IP address: leave it out, or set the address", host)
	}
	return t.reach(ctx, netip.AddrPortFrom(address, uint16(t.number(port))))
}

// reach connects to an address on behalf of the pod. The pods' network does not know the pods that run as processes.
func (p *Pod) reach(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	o := p.Object()
	return p.host.DialAs(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, to)
}

// number returns the number of a port by number or name, or 0 if the container declares no port of that name.
func (t target) number(port intstr.IntOrString) int32 {
	number := port.IntVal
	if port.Type == intstr.String {
		for _, declared := range t.spec.Ports {
			if declared.Name == port.StrVal {
				number = declared.ContainerPort
			}
		}
	}
	return number
}
