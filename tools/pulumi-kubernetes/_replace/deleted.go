//strata:replace github.com/pulumi/pulumi-kubernetes/provider/v4@v4.0.0-20240930223531-b7dae6b4ea56 pkg/await/condition/deleted.go

// Package condition waits for conditions of objects.
//
// The pinned provider reads a deleted object once and then relies on a watch. A watch that starts after the end of the
// object never reports that end, so the deletion lasts until its timeout, ten minutes, and then succeeds. This file keeps
// the type's API and reads the object again and again; see docs/decisions/0022-plugin-detects-every-deletion.md.
package condition

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

const (
	// firstPause and longestPause are the limits of the time between two reads, which doubles with each read.
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
	// readTimeout limits one read, so that an API server that does not answer cannot delay a deletion beyond its timeout.
	readTimeout = 10 * time.Second
)

var _ Satisfier = (*Deleted)(nil)

// Deleted is satisfied when a deleted object no longer exists. Reads from the API server decide this. The watch only speeds
// it up, and may start late, break or be forbidden.
type Deleted struct {
	*ObjectObserver

	ctx    context.Context
	getter objectGetter
	logger logger
	name   string
	uid    types.UID // as recorded when the object was last read or written; empty when unknown
	gone   atomic.Bool
}

// NewDeleted returns the condition for obj, the object's last known state. The condition gives up when ctx ends.
func NewDeleted(
	ctx context.Context, source Source, getter objectGetter, logger logger, obj *unstructured.Unstructured,
) (*Deleted, error) {
	return &Deleted{
		ObjectObserver: NewObjectObserver(ctx, source, obj),
		ctx:            ctx,
		getter:         getter,
		logger:         logger,
		name:           obj.GetName(),
		uid:            obj.GetUID(),
	}, nil
}

// Range returns when the object no longer exists, when yield returns false or, after a last read, when the context ends. It
// calls yield with the object's events, and never after it has returned.
func (d *Deleted) Range(yield func(watch.Event) bool) {
	if d.read(d.ctx) {
		return
	}
	ctx, stop := context.WithCancel(d.ctx)
	defer stop()
	events := d.events(ctx)
	pause := firstPause
	next := time.NewTimer(pause)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			d.giveUp()
			return
		case e := <-events:
			if !yield(e) {
				return
			}
		case <-next.C:
			if d.read(ctx) {
				return
			}
			pause = min(2*pause, longestPause)
			next.Reset(pause)
		}
	}
}

// events returns the watch's events until ctx ends. It is never closed: a watch that cannot start sends nothing.
func (d *Deleted) events(ctx context.Context) <-chan watch.Event {
	events := make(chan watch.Event)
	go d.ObjectObserver.Range(func(e watch.Event) bool {
		select {
		case events <- e:
			return true
		case <-ctx.Done():
			return false
		}
	})
	return events
}

// read asks the API server for the object and reports whether it no longer exists. The API server answers a
// read without a resource version from etcd, and not from a cache.
func (d *Deleted) read(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	live, err := d.getter.Get(ctx, d.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && d.succeeds(live):
		d.gone.Store(true)
	case err != nil:
		d.logger.LogStatus(diag.Warning, "unexpected error while checking cluster state: "+err.Error())
	default:
		_ = d.ObjectObserver.Observe(watch.Event{Type: watch.Modified, Object: live})
	}
	return d.gone.Load()
}

// succeeds reports whether live is another object with the deleted one's name. If live is being deleted, too, it may be the
// object of this deletion, although the recorded UID is that of an older object.
func (d *Deleted) succeeds(live *unstructured.Unstructured) bool {
	return d.uid != "" && live.GetUID() != d.uid && live.GetDeletionTimestamp() == nil
}

// giveUp reads the object a last time although the context has ended, and names the finalizers that may delay its deletion.
func (d *Deleted) giveUp() {
	if d.read(context.WithoutCancel(d.ctx)) {
		return
	}
	if finalizers := d.Object().GetFinalizers(); len(finalizers) > 0 {
		d.logger.Log(diag.Warning,
			fmt.Sprintf("finalizers might be preventing deletion (%s)", strings.Join(finalizers, ", ")))
	}
}

// Observe records an event. A stale cache may report the end of an object with another UID; the next read decides about
// that.
func (d *Deleted) Observe(e watch.Event) error {
	if e.Type == watch.Deleted {
		if last, ok := e.Object.(*unstructured.Unstructured); ok && (d.uid == "" || last.GetUID() == d.uid) {
			d.gone.Store(true)
		}
	}
	return d.ObjectObserver.Observe(e)
}

// Satisfied reports whether the object no longer exists, and otherwise logs its status.
func (d *Deleted) Satisfied() (bool, error) {
	if d.gone.Load() {
		return true, nil
	}
	if result, err := status.Compute(d.Object()); err == nil && result.Message != "" {
		d.logger.LogStatus(diag.Info, result.Message)
	}
	return false, nil
}
