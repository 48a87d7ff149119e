// Package usage evicts the pods that use too much of this machine's disk.
package usage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/strata-platform/strata/internal/local/machine/node/volume"
)

// These are the default bounds.
const (
	// Reserve is the free space in bytes that pods must leave on the disk.
	Reserve = 2 << 30
	// Pod is the maximum size in bytes of the emptyDir volumes on disk of a pod that sets no limit for them.
	Pod = 10 << 30
	// Files is the maximum number of files in the emptyDir volumes on disk of a pod.
	Files = 1_000_000
)

// These are the kubelet's messages about evicted pods.
const (
	messageVolume = "Usage of EmptyDir volume %q exceeds the limit %q. "
	messagePod    = "Pod ephemeral local storage usage exceeds the total limit of containers %s. "
	messageNode   = "The node was low on resource: ephemeral-storage. Threshold quantity: %s, available: %s. "
)

const (
	// freeInterval is the time between two looks at the free space.
	freeInterval = time.Second
	// measureInterval is the least time between two measurements of all volumes. A measurement that takes long delays the
	// next one, so that measuring takes at most a twentieth of the time.
	measureInterval = 3 * time.Second
	measureShare    = 20
	// evictionInterval is the time in which an evicted pod gives its space back, before another pod is evicted for it.
	evictionInterval = 5 * time.Second
)

// Watched is a pod that writes to the disk. *pod.Pod implements it.
type Watched interface {
	Object() *corev1.Pod
	// Writable returns the volumes that the pod's programs write to.
	Writable() []volume.Writable
	// Evict ends the pod for good, with a message for its status.
	Evict(message string)
}

// Options configures a Watch. All fields are required.
type Options struct {
	// Pods returns the pods of the node.
	Pods func() []Watched
	// Dir is a folder on the disk with the reserve. It must exist.
	Dir string
	// Reserve, Pod and Files are the bounds.
	Reserve, Pod, Files int64
	Log                 *slog.Logger
}

// Watch evicts pods until ctx is done: a pod whose emptyDir exceeds its limit, a pod whose volumes exceed the default bounds,
// and the pod with the largest volumes when the disk is nearly full. Between two measurements a pod can exceed its limit.
func Watch(ctx context.Context, o Options) {
	ticker := time.NewTicker(freeInterval)
	defer ticker.Stop()
	var nextMeasure, nextEviction time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		available, err := free(o.Dir)
		if err != nil {
			o.Log.Error("watch the disk of the pods", "error", err)
			continue
		}
		began := time.Now()
		full := available < o.Reserve && began.After(nextEviction)
		if !full && began.Before(nextMeasure) {
			continue
		}
		if o.check(full, available) {
			nextEviction = time.Now().Add(evictionInterval)
		}
		nextMeasure = time.Now().Add(max(measureInterval, measureShare*time.Since(began)))
	}
}

// check measures all pods and evicts those that exceed a bound. If the disk is full and none of them does, it evicts the
// largest one. It reports whether it has evicted a pod.
func (o Options) check(full bool, available int64) bool {
	var largest Watched
	var most int64
	evicted := false
	for _, p := range o.Pods() {
		size, why := o.judge(p)
		if why != "" {
			p.Evict(why)
			evicted = true
		} else if size > most {
			largest, most = p, size
		}
	}
	if full && !evicted && largest != nil {
		largest.Evict(fmt.Sprintf(messageNode, quantity(o.Reserve), quantity(available)))
		evicted = true
	}
	return evicted
}

// judge returns the size of a pod's volumes on disk in bytes, and why the pod must end, or "".
func (o Options) judge(p Watched) (size int64, why string) {
	var temporary used
	for _, w := range p.Writable() {
		if w.Memory {
			continue
		}
		u, err := measure(w.Root)
		size += u.bytes
		switch {
		case w.Persistent:
			continue
		case errors.Is(err, errDeep):
			return 0, fmt.Sprintf("EmptyDir volume %q: %v. ", w.Name, errDeep)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			o.Log.Error("watch the disk of the pods", "error", err)
		}
		if limit := sizeLimit(w); limit != nil {
			if u.bytes > limit.Value() {
				return 0, fmt.Sprintf(messageVolume, w.Name, limit)
			}
			u.bytes = 0 // Its own limit counts instead of the default one.
		}
		temporary.bytes += u.bytes
		temporary.files += u.files
	}
	switch {
	case temporary.bytes > o.Pod:
		return 0, fmt.Sprintf(messagePod, quantity(o.Pod))
	case temporary.files > o.Files:
		return 0, fmt.Sprintf("The emptyDir volumes of the pod contain more than %d files. ", o.Files)
	}
	return size, ""
}

// sizeLimit returns the volume's own limit, or nil.
func sizeLimit(w volume.Writable) *resource.Quantity {
	if w.Limit == nil || w.Limit.SizeLimit == nil || w.Limit.SizeLimit.Value() <= 0 {
		return nil
	}
	return w.Limit.SizeLimit
}

func quantity(bytes int64) string { return resource.NewQuantity(bytes, resource.BinarySI).String() }
