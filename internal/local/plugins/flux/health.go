package flux

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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// failureGrace is how long a sync may report failure of the expected commit before the wait gives up.
	failureGrace = 30 * time.Second
	// retryInterval is the interval between requests to a failed sync to try again.
	retryInterval = 2 * time.Second
)

// waitReady waits until every component is available and the root sync has applied the revision.
func (o Options) waitReady(ctx context.Context, kube client.Client, revision string) error {
	w := &readiness{o: o, kube: kube, revision: revision}
	err := wait.PollUntilContextCancel(ctx, pollInterval, true, w.check)
	switch {
	case err == nil:
		return nil
	case wait.Interrupted(err):
		return fmt.Errorf("wait for Flux in namespace %s: %w: %s", o.Install.Namespace, ctx.Err(), w.pending)
	default:
		return fmt.Errorf("wait for Flux in namespace %s: %w", o.Install.Namespace, err)
	}
}

// readiness keeps, between polls, what is not ready and since when the sync has failed.
type readiness struct {
	o        Options
	kube     client.Client
	revision string

	pending   string
	failing   bool
	failingAt time.Time
	// askedSource says whether the source got a request to fetch. askedSync is the time of the last request to the
	// sync.
	askedSource bool
	askedSync   time.Time
}

func (w *readiness) check(ctx context.Context) (bool, error) {
	for _, step := range []func(context.Context) (pending string, err error){w.components, w.source, w.sync} {
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

// components checks the Deployments.
func (w *readiness) components(ctx context.Context) (string, error) {
	for _, name := range w.o.components() {
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

// source checks that the GitRepository has fetched the revision. If Flux has an older one, it requests a fetch once.
func (w *readiness) source(ctx context.Context) (string, error) {
	var repo sourcev1.GitRepository
	if err := w.kube.Get(ctx, w.o.root(), &repo); err != nil {
		return pendingUnlessFatal(err)
	}
	fetched := ""
	if repo.Status.Artifact != nil {
		fetched = repo.Status.Artifact.Revision
	}
	if fetched != w.revision && fetched != "" && !w.askedSource {
		if err := w.request(ctx, &repo); err != nil {
			return pendingUnlessFatal(err)
		}
		w.askedSource = true
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

// sync checks that the root Kustomization has applied the revision.
func (w *readiness) sync(ctx context.Context) (string, error) {
	var sync kustomizev1.Kustomization
	if err := w.kube.Get(ctx, w.o.root(), &sync); err != nil {
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
		w.failing, w.failingAt = true, time.Now()
	case time.Since(w.failingAt) > failureGrace:
		return "", fmt.Errorf("Kustomization %s failed on %s: %s", sync.Name, w.revision, ready.Message)
	}
	// By itself, a sync that came too early would retry only after half a minute.
	if failed && time.Since(w.askedSync) > retryInterval {
		if err := w.request(ctx, &sync); err != nil {
			return pendingUnlessFatal(err)
		}
		w.askedSync = time.Now()
	}
	return fmt.Sprintf("Kustomization %s has applied %q: %s", sync.Name, sync.Status.LastAppliedRevision, message(ready)), nil
}

// request makes Flux reconcile the object now.
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
	return u, w.kube.Get(ctx, client.ObjectKey{Namespace: w.o.Install.Namespace, Name: name}, u)
}

// installed reports whether the cluster has Flux's root sync.
func (o Options) installed(ctx context.Context, kube client.Client) (bool, error) {
	var sync kustomizev1.Kustomization
	err := kube.Get(ctx, o.root(), &sync)
	if apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) || runtime.IsNotRegisteredError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("get Kustomization %s: %w", o.root(), err)
	}
	return true, nil
}

// root returns the name of Flux's own GitRepository and Kustomization.
func (o Options) root() client.ObjectKey {
	return client.ObjectKey{Namespace: o.Install.Namespace, Name: o.Install.Namespace}
}

// pendingUnlessFatal returns an error as a reason to keep waiting, unless another attempt cannot help.
func pendingUnlessFatal(err error) (string, error) {
	if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		return "", err
	}
	return err.Error(), nil
}

func isTrue(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

func message(c *metav1.Condition) string {
	if c == nil {
		return "not reconciled yet"
	}
	return c.Message
}
