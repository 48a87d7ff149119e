package pod

import (
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/node/volume"
)

// reasonEvicted is the kubelet's reason for a pod that used too much of the node.
const reasonEvicted = "Evicted"

// Evict ends the pod for good, and its status shows the message. As in the kubelet, programs get the least grace period, because
// they keep using what is short. Only the first call has an effect.
func (p *Pod) Evict(message string) {
	p.mu.Lock()
	first := p.evicted == "" && !p.finished
	if first {
		p.evicted = message
		if now := time.Now(); p.stopBy.IsZero() || p.stopBy.After(now) {
			p.stopBy = now
		}
	}
	p.mu.Unlock()
	if first {
		p.event(corev1.EventTypeWarning, reasonEvicted, "%s", message)
		p.cancel()
	}
}

// Writable returns the volumes and the files of the node's own that the pod's programs write to. A simulated pod has none.
func (p *Pod) Writable() []volume.Writable {
	if _, err := os.Stat(p.dir); err != nil {
		return nil
	}
	return append(p.volumes.Writable(), volume.Writable{Name: "files", Root: runtime.Files(p.dir)})
}
