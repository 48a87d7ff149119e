package bootstrap

import (
	"context"
	"fmt"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/plugins/flux/cluster"
)

const (
	// failureGrace is the time for which the root sync may fail on the expected commit before the wait ends with an
	// error.
	failureGrace = 30 * time.Second
	// retryInterval is the minimum time between two requests to reconcile a failed sync.
	retryInterval = 2 * time.Second
)

// waitReady waits until all components are available and the root sync has applied the revision.
func (i installation) waitReady(ctx context.Context, revision string) error {
	w := &readiness{installation: i, revision: revision}
	err := wait.PollUntilContextCancel(ctx, cluster.PollInterval, true, w.check)
	switch {
	case err == nil:
		return nil
	case wait.Interrupted(err):
		return fmt.Errorf("wait for Flux in namespace %s: %w: %s", i.Install.Namespace, ctx.Err(), w.pending)
	default:
		return fmt.Errorf("wait for Flux in namespace %s: %w", i.Install.Namespace, err)
	}
}

// readiness is the state of a wait between two polls.
type readiness struct {
	installation
	revision string

	// pending says which object is not ready, and why.
	pending string
	// failing is true while the root sync fails on the revision, and failingSince is the time of the first such poll.
	failing      bool
	failingSince time.Time
	// sourceRequested is true after a request to the source to fetch. syncRequested is the time of the last request to
	// the root sync.
	sourceRequested bool
	syncRequested   time.Time
}

// check is one poll. The steps build on each other, so it stops at the first that is not ready.
func (w *readiness) check(ctx context.Context) (bool, error) {
	for _, step := range []func(context.Context) (pending string, err error){w.checkComponents, w.checkSource, w.checkSync} {
		pending, err := step(ctx)
		if err != nil {
			return false, err
		}
		if pending != "" {
			w.pending = pending
			return false, nil
		}
	}
	return true, nil
}

// checkComponents checks that the Deployments are available. Like the other checks, it returns why the wait has to go
// on, or "".
func (w *readiness) checkComponents(ctx context.Context) (string, error) {
	for _, name := range w.Components() {
		u, err := w.get(ctx, appsv1.SchemeGroupVersion.WithKind("Deployment"), name)
		if err != nil {
			return pendingUnlessFatal(err)
		}
		result, err := status.Compute(u)
		if err != nil {
			return "", fmt.Errorf("compute the status of Deployment %s: %w", name, err)
		}
		switch result.Status {
		case status.CurrentStatus:
		case status.FailedStatus:
			return "", fmt.Errorf("Deployment %s failed: %s", name, result.Message)
		default:
			return fmt.Sprintf("Deployment %s: %s", name, result.Message), nil
		}
	}
	return "", nil
}

// checkSource checks that the GitRepository has fetched the revision. If it has an older revision, checkSource requests
// a fetch, once.
func (w *readiness) checkSource(ctx context.Context) (string, error) {
	var repo sourcev1.GitRepository
	if err := w.kube.Get(ctx, w.Root(), &repo); err != nil {
		return pendingUnlessFatal(err)
	}
	fetched := ""
	if repo.Status.Artifact != nil {
		fetched = repo.Status.Artifact.Revision
	}
	if fetched != w.revision && fetched != "" && !w.sourceRequested {
		if err := w.request(ctx, &repo); err != nil {
			return pendingUnlessFatal(err)
		}
		w.sourceRequested = true
	}
	ready := apimeta.FindStatusCondition(repo.Status.Conditions, meta.ReadyCondition)
	if stalled := apimeta.FindStatusCondition(repo.Status.Conditions, meta.StalledCondition); repo.Status.ObservedGeneration == repo.Generation &&
		stalled != nil && stalled.Status == metav1.ConditionTrue {
		return "", fmt.Errorf("GitRepository %s is stalled: %s", repo.Name, stalled.Message)
	}
	if fetched == w.revision && isTrue(ready) && repo.Status.ObservedGeneration == repo.Generation {
		return "", nil
	}
	return fmt.Sprintf("GitRepository %s has revision %q: %s", repo.Name, fetched, message(ready)), nil
}

// checkSync checks that the root Kustomization has applied the revision.
func (w *readiness) checkSync(ctx context.Context) (string, error) {
	var sync kustomizev1.Kustomization
	if err := w.kube.Get(ctx, w.Root(), &sync); err != nil {
		return pendingUnlessFatal(err)
	}
	if sync.Spec.Suspend {
		return "", fmt.Errorf("Kustomization %s is suspended: resume it", sync.Name)
	}
	ready := apimeta.FindStatusCondition(sync.Status.Conditions, meta.ReadyCondition)
	if isTrue(ready) && sync.Status.LastAppliedRevision == w.revision && sync.Status.ObservedGeneration == sync.Generation {
		return "", nil
	}
	failed := ready != nil && ready.Status == metav1.ConditionFalse
	switch {
	case !failed || sync.Status.LastAttemptedRevision != w.revision:
		w.failing = false
	case !w.failing:
		w.failing, w.failingSince = true, time.Now()
	case time.Since(w.failingSince) > failureGrace:
		return "", fmt.Errorf("Kustomization %s failed on %s: %s", sync.Name, w.revision, ready.Message)
	}
	// Without a request, a sync that ran before its source was ready would retry only after half a minute.
	if failed && time.Since(w.syncRequested) > retryInterval {
		if err := w.request(ctx, &sync); err != nil {
			return pendingUnlessFatal(err)
		}
		w.syncRequested = time.Now()
	}
	return fmt.Sprintf("Kustomization %s has applied %q: %s", sync.Name, sync.Status.LastAppliedRevision, message(ready)), nil
}

// request requests an immediate reconciliation of the object.
func (w *readiness) request(ctx context.Context, obj client.Object) error {
	before, _ := obj.DeepCopyObject().(client.Object)
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[meta.ReconcileRequestAnnotation] = time.Now().Format(time.RFC3339Nano)
	obj.SetAnnotations(annotations)
	return w.kube.Patch(ctx, obj, client.MergeFrom(before))
}

func (w *readiness) get(ctx context.Context, gvk schema.GroupVersionKind, name string) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	return u, w.kube.Get(ctx, client.ObjectKey{Namespace: w.Install.Namespace, Name: name}, u)
}

// pendingUnlessFatal returns the text of an error as a reason to go on waiting. It returns the error itself if another
// attempt would fail, too.
func pendingUnlessFatal(err error) (string, error) {
	if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		return "", err
	}
	return err.Error(), nil
}

func isTrue(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

// message returns the message of a condition, which is nil before the first reconciliation.
func message(c *metav1.Condition) string {
	if c == nil {
		return "not reconciled yet"
	}
	return c.Message
}
