package bootstrap

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/plugins/flux/cluster"
)

// stopRemoved stops the controllers of the components that are installed but no longer among the inputs, and returns
// their names. It must run before the commit that removes the components: the root sync deletes a component together
// with its kinds, and a running helm-controller would then uninstall the releases of its objects.
func (i installation) stopRemoved(ctx context.Context) ([]string, error) {
	var list appsv1.DeploymentList
	if err := i.kube.List(ctx, &list, client.InNamespace(i.Install.Namespace), cluster.PartOfFlux()); err != nil {
		return nil, fmt.Errorf("list the components of Flux in namespace %s: %w", i.Install.Namespace, err)
	}
	var stopped []string
	for n := range list.Items {
		d := &list.Items[n]
		if slices.Contains(i.Components(), d.Name) {
			continue
		}
		stopped = append(stopped, d.Name)
		i.Logger.Actionf("removing %s", d.Name)
		if err := i.kube.Delete(ctx, d, client.PropagationPolicy("Background")); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("delete Deployment %s/%s: %w", d.Namespace, d.Name, err)
		}
		if err := cluster.WaitForPods(ctx, i.kube, i.Install.Namespace, client.MatchingLabels{"app": d.Name}, i.Logger); err != nil {
			return nil, fmt.Errorf("wait for the pods of %s/%s to end: %w", d.Namespace, d.Name, err)
		}
	}
	return stopped, nil
}

// waitRemoved waits until the root sync has deleted the stopped components, and the cluster has deleted all kinds under
// deletion with their objects. The deletion of some kinds may have begun in an earlier run that was killed. waitRemoved
// removes the finalizers of the objects, because their controllers no longer run.
func (i installation) waitRemoved(ctx context.Context, stopped []string) error {
	var left []string
	err := wait.PollUntilContextCancel(ctx, cluster.FinalizerInterval, true, func(ctx context.Context) (bool, error) {
		left = nil
		for _, name := range stopped {
			d := &appsv1.Deployment{}
			if err := i.kube.Get(ctx, client.ObjectKey{Namespace: i.Install.Namespace, Name: name}, d); err == nil {
				left = append(left, "Deployment "+name)
			} else if !cluster.Gone(err) {
				return false, err
			}
		}
		var crds apiextensionsv1.CustomResourceDefinitionList
		if err := i.kube.List(ctx, &crds, cluster.PartOfFlux()); err != nil {
			return false, err
		}
		for n := range crds.Items {
			crd := &crds.Items[n]
			if crd.DeletionTimestamp == nil {
				continue
			}
			left = append(left, "CustomResourceDefinition "+crd.Name)
			if err := removeFinalizers(ctx, i.kube, crd); err != nil {
				return false, err
			}
		}
		return len(left) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("remove components of Flux from namespace %s: %w: %s left", i.Install.Namespace, err, strings.Join(left, ", "))
	}
	return nil
}

// removeFinalizers removes the finalizers of the objects of a kind that is being deleted.
func removeFinalizers(ctx context.Context, kube client.Client, crd *apiextensionsv1.CustomResourceDefinition) error {
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(schema.GroupVersionKind{
		Group: crd.Spec.Group, Version: crd.Status.StoredVersions[len(crd.Status.StoredVersions)-1], Kind: crd.Spec.Names.ListKind,
	})
	if err := kube.List(ctx, &list); err != nil {
		if cluster.Gone(err) {
			return nil
		}
		return fmt.Errorf("list %s: %w", crd.Name, err)
	}
	for i := range list.Items {
		object := &list.Items[i]
		if len(object.GetFinalizers()) == 0 {
			continue
		}
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		if err := kube.Patch(ctx, object, patch); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove the finalizers of %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
		}
	}
	return nil
}
