package node

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
)

// quiet drops virtual-kubelet's events about successful steps. The node sends more specific ones.
type quiet struct{ record.EventRecorder }

// Event records events of the type Warning only.
func (q quiet) Event(o runtime.Object, kind, reason, message string) {
	if kind != corev1.EventTypeNormal {
		q.EventRecorder.Event(o, kind, reason, message)
	}
}
