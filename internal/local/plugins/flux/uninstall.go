package flux

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/flux2/v2/pkg/manifestgen"
	"github.com/fluxcd/flux2/v2/pkg/uninstall"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	defaultDeleteTimeout = 5 * time.Minute

	// pruneLimit and podsLimit bound the waits for steps that a broken cluster never finishes. After the limit, the
	// uninstall continues with a warning.
	pruneLimit = time.Minute
	podsLimit  = 20 * time.Second

	stripInterval = 300 * time.Millisecond
)

// Uninstall removes Flux. First, while the controllers run, it removes every sync except the root, with the objects
// that the sync applied. Then it removes the controllers and the namespace, the finalizers of the remaining objects,
// the definitions, and finally the files in the repository. Objects that do not exist are no error.
func Uninstall(ctx context.Context, o Options, files []string) error {
	o = o.withDefaults()
	ctx, cancel, err := withTimeout(ctx, o.Install.Timeouts.Delete, defaultDeleteTimeout)
	if err != nil {
		return err
	}
	defer cancel()
	kube, err := o.Kubernetes.newClient()
	if err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		do   func(context.Context, client.Client) error
	}{
		{"suspend the root sync", o.suspendRoot},
		{"prune the syncs", o.prune},
		{"delete the components and the namespace", o.deleteComponents},
		{"delete the definitions", o.deleteDefinitions},
		{"wait for the namespace", o.waitNamespace},
	} {
		o.Logger.Actionf("%s", step.name)
		if err := step.do(ctx, kube); err != nil {
			return fmt.Errorf("uninstall Flux from namespace %s: %s: %w", o.Install.Namespace, step.name, err)
		}
	}
	if !*o.Install.DeleteGitManifests {
		return nil
	}
	o.Logger.Actionf("removing the manifests from branch %s of %s", o.Git.Branch, o.Git.URL)
	return removeFiles(ctx, o.Git, "Uninstall Flux", files)
}

// suspendRoot suspends the root sync. Otherwise the root sync would restore deleted objects, and would prune Flux
// itself on its deletion.
func (o Options) suspendRoot(ctx context.Context, kube client.Client) error {
	root := &kustomizev1.Kustomization{}
	err := kube.Get(ctx, o.root(), root)
	if isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	before := root.DeepCopy()
	root.Spec.Suspend = true
	if err := kube.Patch(ctx, root, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(err)
	}
	return nil
}

// prune deletes the syncs and waits until the controllers have removed the applied objects. It deletes those first
// that no other sync depends on. Without a running controller, it does not wait.
func (o Options) prune(ctx context.Context, kube client.Client) error {
	limited, cancel := context.WithTimeout(ctx, pruneLimit)
	defer cancel()
	var left []string
	// The limit ends the wait but no call, because an interrupted call returns errors of its own.
	err := wait.PollUntilContextCancel(limited, pollInterval, true, func(context.Context) (bool, error) {
		syncs, err := o.syncs(ctx, kube)
		if err != nil {
			return false, err
		}
		left = nil
		for _, s := range syncs {
			left = append(left, s.String())
		}
		for _, s := range leaves(syncs) {
			if s.object.GetDeletionTimestamp() != nil {
				continue
			}
			if err := kube.Delete(ctx, s.object); client.IgnoreNotFound(err) != nil {
				return false, fmt.Errorf("delete %s: %w", s, err)
			}
		}
		if len(syncs) == 0 {
			return true, nil
		}
		alive, err := o.alive(ctx, kube)
		return !alive, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		o.Logger.Warningf("still not pruned after %s, what they applied stays: %s", pruneLimit, strings.Join(left, ", "))
		return nil
	}
	return err
}

// dependent is a sync and the syncs that it depends on.
type dependent struct {
	kind   string
	object client.Object
	needs  []string
}

func (d dependent) String() string { return d.kind + " " + d.key() }

func (d dependent) key() string { return d.object.GetNamespace() + "/" + d.object.GetName() }

// syncs returns every Kustomization except the root, and every HelmRelease.
func (o Options) syncs(ctx context.Context, kube client.Client) ([]dependent, error) {
	var syncs []dependent
	var ks kustomizev1.KustomizationList
	if err := kube.List(ctx, &ks); err != nil && !isGone(err) {
		return nil, fmt.Errorf("list Kustomizations: %w", err)
	}
	for i := range ks.Items {
		k := &ks.Items[i]
		if client.ObjectKeyFromObject(k) == o.root() {
			continue
		}
		d := dependent{kind: kustomizev1.KustomizationKind, object: k}
		for _, need := range k.Spec.DependsOn {
			d.needs = append(d.needs, or(need.Namespace, k.Namespace)+"/"+need.Name)
		}
		syncs = append(syncs, d)
	}
	var hs helmv2.HelmReleaseList
	if err := kube.List(ctx, &hs); err != nil && !isGone(err) {
		return nil, fmt.Errorf("list HelmReleases: %w", err)
	}
	for i := range hs.Items {
		h := &hs.Items[i]
		d := dependent{kind: helmv2.HelmReleaseKind, object: h}
		for _, need := range h.Spec.DependsOn {
			d.needs = append(d.needs, or(need.Namespace, h.Namespace)+"/"+need.Name)
		}
		syncs = append(syncs, d)
	}
	return syncs, nil
}

// leaves returns the syncs that no other sync of the same kind depends on. If all depend on each other, it returns all
// of them.
func leaves(syncs []dependent) []dependent {
	needed := map[string]bool{}
	for _, s := range syncs {
		for _, need := range s.needs {
			needed[s.kind+need] = true
		}
	}
	free := slices.DeleteFunc(slices.Clone(syncs), func(s dependent) bool { return needed[s.kind+s.key()] })
	if len(free) == 0 {
		return syncs
	}
	return free
}

// alive reports whether a kustomize-controller is available to prune.
func (o Options) alive(ctx context.Context, kube client.Client) (bool, error) {
	var d appsv1.Deployment
	err := kube.Get(ctx, client.ObjectKey{Namespace: o.Install.Namespace, Name: "kustomize-controller"}, &d)
	if isGone(err) {
		return false, nil
	}
	return d.Status.AvailableReplicas > 0, err
}

// deleteComponents deletes the controllers and waits for their pods, which could add finalizers again. It also deletes
// the namespace. The cluster acts on that only after five seconds, enough time for the rest of the uninstall.
func (o Options) deleteComponents(ctx context.Context, kube client.Client) error {
	if err := uninstall.Components(ctx, o.Logger, kube, o.Install.Namespace, false); err != nil && !isGone(err) {
		return err
	}
	if !o.Install.KeepNamespace {
		if err := uninstall.Namespace(ctx, o.Logger, kube, o.Install.Namespace, false); err != nil && !isGone(err) {
			return err
		}
	}
	return o.waitPods(ctx, kube, partOfFlux())
}

// deleteDefinitions removes the finalizers of the remaining objects, then the definitions. A controller that is still
// exiting may add a finalizer again, but not to an object under deletion. Deleting a definition deletes its objects,
// so deleteDefinitions keeps removing finalizers until the definitions are gone.
func (o Options) deleteDefinitions(ctx context.Context, kube client.Client) error {
	stripped := uninstall.Finalizers(ctx, o.Logger, kube, false)
	if err := uninstall.CustomResourceDefinitions(ctx, o.Logger, kube, false); err != nil && !isGone(err) {
		return err
	}
	var left []string
	err := wait.PollUntilContextCancel(ctx, stripInterval, true, func(ctx context.Context) (bool, error) {
		var crds apiextensionsv1.CustomResourceDefinitionList
		if err := kube.List(ctx, &crds, partOfFlux()); err != nil {
			return false, err
		}
		left = nil
		for i := range crds.Items {
			left = append(left, crds.Items[i].Name)
		}
		if len(left) == 0 {
			return true, nil
		}
		stripped = uninstall.Finalizers(ctx, o.Logger, kube, false)
		return false, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%w: %s left, last try to remove the finalizers: %w", err, strings.Join(left, ", "), stripped)
	}
	return err
}

func partOfFlux() client.MatchingLabels {
	return client.MatchingLabels{manifestgen.PartOfLabelKey: manifestgen.PartOfLabelValue}
}

// isGone reports whether err means that the object, or its kind, does not exist.
func isGone(err error) bool { return apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) }
