// Package uninstall removes Flux from a cluster and its files from the repository.
package uninstall

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/flux2/v2/pkg/uninstall"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/plugins/flux/cluster"
	"github.com/strata-platform/strata/internal/local/plugins/flux/options"
	"github.com/strata-platform/strata/internal/local/plugins/flux/repository"
)

const (
	defaultDeleteTimeout = 5 * time.Minute

	// pruneLimit limits the wait for the controllers to prune, which they never finish on a broken cluster. After the
	// limit, the uninstall continues with a warning.
	pruneLimit = time.Minute
)

// installation is the Flux of one cluster.
type installation struct {
	options.Options
	kube client.Client
}

// Run removes Flux. While the controllers still run, it deletes all syncs except the root sync, and the controllers
// prune the objects that the syncs applied. Then Run deletes the controllers and the namespace, removes the finalizers
// of the remaining objects, and deletes the CustomResourceDefinitions. Finally it removes the files at the paths files
// from the repository. Missing objects and files are no error.
func Run(ctx context.Context, o options.Options, files []string) error {
	o = o.WithDefaults()
	ctx, cancel, err := options.WithTimeout(ctx, o.Install.Timeouts.Delete, defaultDeleteTimeout)
	if err != nil {
		return err
	}
	defer cancel()
	kube, err := o.Kubernetes.NewClient()
	if err != nil {
		return err
	}
	i := installation{o, kube}
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"suspend the root sync", i.suspendRoot},
		{"prune the syncs", i.prune},
		{"delete the components and the namespace", i.deleteComponents},
		{"delete the definitions", i.deleteDefinitions},
		{"wait for the namespace", i.waitNamespace},
	} {
		o.Logger.Actionf("%s", step.name)
		if err := step.do(ctx); err != nil {
			return fmt.Errorf("uninstall Flux from namespace %s: %s: %w", o.Install.Namespace, step.name, err)
		}
	}
	if !*o.Install.DeleteGitManifests {
		return nil
	}
	o.Logger.Actionf("removing the manifests from branch %s of %s", o.Git.Branch, o.Git.URL)
	return repository.Remove(ctx, o.Git, "Uninstall Flux", files)
}

// suspendRoot suspends the root sync, which would otherwise recreate deleted objects and, when it is deleted itself,
// prune Flux.
func (i installation) suspendRoot(ctx context.Context) error {
	root := &kustomizev1.Kustomization{}
	err := i.kube.Get(ctx, i.Root(), root)
	if cluster.Gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	before := root.DeepCopy()
	root.Spec.Suspend = true
	if err := i.kube.Patch(ctx, root, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(err)
	}
	return nil
}

// deleteComponents deletes the controllers and waits until their pods have ended, because the pods could add finalizers
// again. It also deletes the namespace. The cluster begins to empty a namespace only after five seconds, which is
// enough time for the remaining steps.
func (i installation) deleteComponents(ctx context.Context) error {
	if err := uninstall.Components(ctx, i.Logger, i.kube, i.Install.Namespace, false); err != nil && !cluster.Gone(err) {
		return err
	}
	if !i.Install.KeepNamespace {
		if err := uninstall.Namespace(ctx, i.Logger, i.kube, i.Install.Namespace, false); err != nil && !cluster.Gone(err) {
			return err
		}
	}
	return cluster.WaitForPods(ctx, i.kube, i.Install.Namespace, cluster.PartOfFlux(), i.Logger)
}

// deleteDefinitions removes the finalizers of the remaining objects, and deletes the CustomResourceDefinitions and with
// them the objects. A controller that is still exiting may add a finalizer again, although not to an object under
// deletion. So deleteDefinitions keeps removing finalizers until the definitions no longer exist.
func (i installation) deleteDefinitions(ctx context.Context) error {
	stripped := uninstall.Finalizers(ctx, i.Logger, i.kube, false)
	if err := uninstall.CustomResourceDefinitions(ctx, i.Logger, i.kube, false); err != nil && !cluster.Gone(err) {
		return err
	}
	var left []string
	err := wait.PollUntilContextCancel(ctx, cluster.FinalizerInterval, true, func(ctx context.Context) (bool, error) {
		var crds apiextensionsv1.CustomResourceDefinitionList
		if err := i.kube.List(ctx, &crds, cluster.PartOfFlux()); err != nil {
			return false, err
		}
		left = nil
		for n := range crds.Items {
			left = append(left, crds.Items[n].Name)
		}
		if len(left) == 0 {
			return true, nil
		}
		stripped = uninstall.Finalizers(ctx, i.Logger, i.kube, false)
		return false, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%w: %s still exist, last attempt to remove the finalizers: %w", err, strings.Join(left, ", "), stripped)
	}
	return err
}

// waitNamespace waits until the namespace no longer exists, unless the inputs keep it.
func (i installation) waitNamespace(ctx context.Context) error {
	if i.Install.KeepNamespace {
		return nil
	}
	ns := &corev1.Namespace{}
	err := wait.PollUntilContextCancel(ctx, cluster.PollInterval, true, func(ctx context.Context) (bool, error) {
		err := i.kube.Get(ctx, client.ObjectKey{Name: i.Install.Namespace}, ns)
		if cluster.Gone(err) {
			return true, nil
		}
		return false, err
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("%w: %s", err, terminating(ns))
	}
	return err
}

// terminating returns why a namespace still exists.
func terminating(ns *corev1.Namespace) string {
	for _, c := range ns.Status.Conditions {
		if c.Status == corev1.ConditionTrue && c.Message != "" {
			return c.Message
		}
	}
	return "the namespace is still terminating: is the controller manager running?"
}
