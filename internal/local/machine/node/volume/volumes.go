// Package volume writes the volumes of a pod as folders of this machine, and keeps them up to date.
package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/strata-platform/strata/internal/local/machine/node/environment"
	"github.com/strata-platform/strata/internal/local/machine/storage"
)

// RefreshInterval is the interval at which the node rewrites the volumes of a running pod even without a signal of a
// change, to renew tokens.
const RefreshInterval = time.Minute

// Volumes are the volumes of one pod.
type Volumes struct {
	pod    environment.Resolver
	dir    string
	clock  clock.Clock
	failed func(error)
	// keep starts the updates. Start sets it.
	keep func()
	// stale signals that the volumes must be rewritten.
	stale chan struct{}

	// persistent holds the persistent volumes.
	persistent storage.Folder
	// supported returns nil if the file system of the pod's folder keeps the owners of files.
	supported func() error

	mu      sync.Mutex // held while volumes are written; guards tokens and grouped
	tokens  map[string]token
	grouped map[string]bool // the volumes that have got the pod's fsGroup

	claiming sync.Mutex // guards claims
	claims   map[string]claimed
}

// New returns the volumes of a pod. dir is the absolute path of the pod's folder, persistent the folder of the persistent
// volumes. An update in the background that fails calls failed with its error.
func New(pod environment.Resolver, dir string, persistent storage.Folder, c clock.Clock, failed func(error)) *Volumes {
	return &Volumes{
		pod: pod, dir: dir, clock: c, failed: failed, keep: func() {}, stale: make(chan struct{}, 1), persistent: persistent,
		supported: sync.OnceValue(func() error { return supportedBy(dir) }),
		tokens:    map[string]token{}, grouped: map[string]bool{}, claims: map[string]claimed{},
	}
}

// Start makes the first Prepare call watch, and update the volumes in the background until ctx is done. The pod of a
// simulated container never calls Prepare, so it causes neither watches nor requests for tokens.
func (v *Volumes) Start(ctx context.Context, watch func()) {
	v.keep = sync.OnceFunc(func() {
		watch()
		go v.update(ctx)
	})
}

// Prepare writes the content of every volume. It fails if a Secret or ConfigMap that is not optional does not exist, if
// the node does not support a volume, or if ctx is done. A volume that fails keeps its content and does not stop the
// others.
func (v *Volumes) Prepare(ctx context.Context) error {
	v.keep()
	return v.write(ctx)
}

// Refresh makes the volumes of a running pod adopt changed Secrets, ConfigMaps, labels and annotations. It returns at
// once.
func (v *Volumes) Refresh() {
	select {
	case v.stale <- struct{}{}:
	default:
		// The pending signal covers this change too.
	}
}

// Remove removes the pod's folder. After the end of Start's context nothing writes it again.
func (v *Volumes) Remove() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return os.RemoveAll(v.dir)
}

// update rewrites the volumes at each signal and at each RefreshInterval until ctx is done.
func (v *Volumes) update(ctx context.Context) {
	for {
		timer := v.clock.NewTimer(RefreshInterval)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-v.stale:
		case <-timer.C():
		}
		timer.Stop()
		if err := v.write(ctx); err != nil && ctx.Err() == nil {
			v.failed(err)
		}
	}
}

// write writes the content of every volume, and joins the errors.
func (v *Volumes) write(ctx context.Context) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	// Remove may have run while this call waited for the lock.
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.MkdirAll(v.dir, 0o700); err != nil {
		return err
	}
	var failed []error
	for _, volume := range v.pod.Pod().Spec.Volumes {
		if err := v.writeVolume(ctx, volume); err != nil {
			failed = append(failed, fmt.Errorf("volume %s: %w", volume.Name, err))
		}
	}
	return errors.Join(failed...)
}

// writeVolume writes the content of one volume. Only programs write to emptyDir volumes and persistent ones.
func (v *Volumes) writeVolume(ctx context.Context, volume corev1.Volume) error {
	if volume.EmptyDir != nil {
		return v.makeEmpty(&volume)
	}
	if isClaim(&volume) {
		return v.bind(ctx, &volume)
	}
	files, err := v.files(ctx, volume)
	if err != nil {
		return err
	}
	return writeFolder(v.folder(volume.Name), files)
}

// folder returns the folder of a volume that ends with the pod: volumes/NAME in the pod's folder.
func (v *Volumes) folder(name string) string { return filepath.Join(v.dir, "volumes", name) }

// path returns the folder of a volume. It is empty for a persistent volume before Prepare.
func (v *Volumes) path(name string) string {
	if volume := v.spec(name); volume != nil && isClaim(volume) {
		return v.claimed(name).path
	}
	return v.folder(name)
}
