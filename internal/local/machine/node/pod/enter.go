package pod

import (
	"context"
	"fmt"
	"net"

	"github.com/strata-platform/strata/internal/local/machine/node/environment"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// describe returns the pod's description for a runtime.
func (p *Pod) describe() runtime.Pod {
	return runtime.Pod{
		Object: p.Object(), Dir: p.dir, Dial: p.dial, Environment: p.environment, Volumes: p.volumes, Pulling: p.pulling, Event: p.event,
	}
}

// enter makes a runtime prepare the pod, and publishes the pod's address. The containers of a pod start concurrently, but
// the runtime prepares the pod once.
func (p *Pod) enter(ctx context.Context, r runtime.Runtime) error {
	p.entering.Lock()
	defer p.entering.Unlock()
	ip, err := r.Enter(ctx, p.describe())
	if err != nil {
		return err
	}
	p.mu.Lock()
	before := p.ip
	p.ip = ip
	p.mu.Unlock()
	if ip != before {
		p.publish()
	}
	return nil
}

// decline passes all containers of the pod to the runtimes after r.
func (p *Pod) decline(r runtime.Runtime, why runtime.Declined) {
	p.mu.Lock()
	_, known := p.declined[r.Name()]
	if !known {
		p.declined[r.Name()] = why.Err
		for _, c := range append(p.all(), p.ephemerals.list...) {
			c.find()
		}
		p.object = p.object.DeepCopy()
		p.annotate()
	}
	p.mu.Unlock()
	if !known {
		p.reportSimulated()
		p.publish()
		if why.Later && p.canMove() {
			p.later(r)
		}
	}
}

// ownIP returns the address at which the pod's containers can listen. A process listens at the address of the machine.
func (p *Pod) ownIP() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hasNetwork() {
		return p.ip.String()
	}
	return environment.Loopback
}

// hostIP returns the address at which the pod's containers reach the node. A process shares the machine's loopback.
func (p *Pod) hostIP() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hasNetwork() {
		return p.host.IP.String()
	}
	return environment.Loopback
}

// hasNetwork reports whether the pod's containers have a network of their own. The caller must hold the lock.
func (p *Pod) hasNetwork() bool {
	return p.ip.IsValid() && p.object.Annotations[runtime.Annotation] == runtime.Sandboxed
}

// dial connects to the container that listens on a port.
func (p *Pod) dial(ctx context.Context, port int32) (net.Conn, error) {
	for _, c := range p.all() {
		if run := c.lastRun().run; run != nil && c.listens(run, port) {
			return run.Dial(ctx, port)
		}
	}
	o := p.Object()
	return nil, fmt.Errorf("no container of pod %s/%s listens on port %d", o.Namespace, o.Name, port)
}
