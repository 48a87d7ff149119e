package sandboxed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/network"
	"github.com/strata-platform/strata/internal/local/machine/network/link"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/owners"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// pod is the sandbox of a pod.
type pod struct {
	runtime *Runtime

	mu      sync.Mutex // held while the sandbox is created or removed
	name    types.NamespacedName
	ip      netip.Addr
	sandbox *sandboxes.Pod // nil: the pod has no sandbox yet
	images  map[string]pulled
}

// enter implements Runtime.Enter. It creates a new sandbox if the last one has ended, and keeps the pod's address.
func (p *pod) enter(ctx context.Context, d runtime.Pod) (netip.Addr, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		return p.ip, nil
	}
	host, err := p.runtime.start(ctx)
	if err != nil {
		return netip.Addr{}, err
	}
	if p.sandbox == nil {
		if err := p.pullAll(ctx, d); err != nil {
			return netip.Addr{}, err
		}
	}
	// Before the sandbox, as in the kubelet: the sandbox mounts the folders of the volumes.
	if err := d.Volumes.Prepare(ctx); err != nil {
		return netip.Addr{}, err
	}
	p.detach()
	if !p.ip.IsValid() {
		if p.ip, err = p.runtime.options.Network.Reserve(); err != nil {
			return netip.Addr{}, err
		}
	}
	if err := p.create(ctx, host, d); err != nil {
		return netip.Addr{}, runtime.Error{Reason: reasonSandbox, Err: err}
	}
	return p.ip, nil
}

// reasonSandbox is the kubelet's reason for a pod whose sandbox cannot be created.
const reasonSandbox = "FailedCreatePodSandBox"

// running reports whether the sandbox runs. The caller must hold the lock.
func (p *pod) running() bool {
	if p.sandbox == nil {
		return false
	}
	select {
	case <-p.sandbox.Done():
		return false
	default:
		return true
	}
}

// create creates the sandbox and connects it to the network.
func (p *pod) create(ctx context.Context, host *sandboxes.Host, d runtime.Pod) error {
	o, gateway := d.Object, p.runtime.options.Network
	description, err := p.describe(d)
	if err != nil {
		return err
	}
	sandbox, file, err := host.CreatePod(ctx, description)
	if err != nil {
		return err
	}
	defer file.Close()
	endpoint, err := link.Open(file, gateway.MAC(), network.MTU)
	if err == nil {
		err = gateway.Attach(ctx, network.Pod{
			Namespace: o.Namespace, Name: o.Name, UID: o.UID, Labels: o.Labels, IP: p.ip, MAC: hardwareAddress(p.ip),
		}, endpoint)
	}
	if err != nil {
		return errors.Join(err, sandbox.Remove(context.WithoutCancel(ctx)))
	}
	p.sandbox, p.name = sandbox, types.NamespacedName{Namespace: o.Namespace, Name: o.Name}
	return nil
}

// describe describes the pod to the sandboxes.
func (p *pod) describe(d runtime.Pod) (spec.Pod, error) {
	o, gateway := d.Object, p.runtime.options.Network
	description := spec.Pod{
		ID: string(o.UID), Hostname: hostname(o), DNS: resolvConf(o, gateway.DNS()),
		Network: spec.Network{
			Address: netip.PrefixFrom(p.ip, gateway.Pods().Bits()), Gateway: gateway.Address(),
			MAC: hardwareAddress(p.ip).String(), MTU: network.MTU,
		},
		ShareProcesses: o.Spec.ShareProcessNamespace != nil && *o.Spec.ShareProcessNamespace,
		Sysctls:        map[string]string{},
	}
	if context := o.Spec.SecurityContext; context != nil {
		for _, s := range context.Sysctls {
			description.Sysctls[s.Name] = s.Value
		}
	}
	description.Memory = []spec.Memory{{Name: spec.SharedMemory, Size: sharedMemory}}
	description.Annotations = map[string]string{}
	for _, v := range d.Volumes.Writable() {
		name := memoryName(o, v.Name)
		switch {
		case v.Memory:
			description.Memory = append(description.Memory, spec.Memory{Name: name, Size: v.Size})
		case v.Owners:
			maps.Copy(description.Annotations, owners.Annotations(name, v.Root))
		}
	}
	return description, nil
}

// sharedMemory is the size of /dev/shm in bytes, as in containerd. An emptyDir in memory at /dev/shm replaces it.
const sharedMemory = 64 << 20

// hardwareAddress returns the link address of a pod: a locally administered one that contains the pod's IP address.
func hardwareAddress(ip netip.Addr) net.HardwareAddr {
	four := ip.As4()
	return append(net.HardwareAddr{2, 0}, four[:]...)
}

// detach disconnects a sandbox that has ended. The caller must hold the lock.
func (p *pod) detach() {
	if p.sandbox != nil {
		p.runtime.options.Network.Detach(p.name.Namespace, p.name.Name)
		p.sandbox = nil
	}
}

// leave removes the sandbox, and releases the pod's address and images.
func (p *pod) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sandbox != nil {
		if err := p.sandbox.Remove(context.Background()); err != nil {
			p.runtime.options.Log.Error("remove a sandbox", "pod", p.name.String(), "error", err)
		}
	}
	p.detach()
	if p.ip.IsValid() {
		p.runtime.options.Network.Free(p.ip)
	}
	for _, image := range p.images {
		image.release()
	}
}

// pullAll pulls the images of all containers, so that a pod without its images is simulated as a whole. It fails only if a
// registry does not answer: other errors concern single containers, whose statuses show them.
func (p *pod) pullAll(ctx context.Context, d runtime.Pod) error {
	var group sync.WaitGroup
	var mu sync.Mutex
	var declined error
	seen := map[string]bool{}
	for _, list := range [][]corev1.Container{d.Object.Spec.InitContainers, d.Object.Spec.Containers} {
		for _, c := range list {
			if seen[c.Image] {
				continue
			}
			seen[c.Image] = true
			group.Go(func() {
				found := p.runtime.pull(ctx, d, c.Image, c.ImagePullPolicy)
				mu.Lock()
				defer mu.Unlock()
				p.images[c.Image].release()
				p.images[c.Image] = found
				if fault.Of(found.err) == fault.Unavailable {
					declined = found.err
				}
			})
		}
	}
	group.Wait()
	if declined != nil {
		return runtime.Declined{Err: fmt.Errorf("its image is not available: %w", declined), Later: true}
	}
	return nil
}
