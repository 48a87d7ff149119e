package flux

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
)

// leaving holds the names of the components that a bootstrap removes.
type leaving []string

// stopRemoved stops the controllers of the unwanted components. It must run before the commit that removes them: the
// root sync removes a component together with its kinds, and a running helm-controller would then uninstall the
// releases of its objects.
func (o Options) stopRemoved(ctx context.Context, kube client.Client) (leaving, error) {
	var list appsv1.DeploymentList
	if err := kube.List(ctx, &list, client.InNamespace(o.Install.Namespace), partOfFlux()); err != nil {
		return nil, fmt.Errorf("list the components of Flux in namespace %s: %w", o.Install.Namespace, err)
	}
	var gone leaving
	for i := range list.Items {
		d := &list.Items[i]
		if slices.Contains(o.components(), d.Name) {
			continue
		}
		gone = append(gone, d.Name)
		o.Logger.Actionf("removing %s", d.Name)
		if err := kube.Delete(ctx, d, client.PropagationPolicy("Background")); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("delete Deployment %s/%s: %w", d.Namespace, d.Name, err)
		}
		if err := o.waitPods(ctx, kube, client.MatchingLabels{"app": d.Name}); err != nil {
			return nil, fmt.Errorf("wait for the pods of %s/%s to end: %w", d.Namespace, d.Name, err)
		}
	}
	return gone, nil
}

// waitRemoved waits until the root sync has removed the components, and the cluster has removed their kinds with all
// objects. It includes the kinds whose removal a killed run began. It also removes the finalizers of these objects,
// because their controllers no longer run.
func (o Options) waitRemoved(ctx context.Context, kube client.Client, gone leaving) error {
	var left []string
	err := wait.PollUntilContextCancel(ctx, stripInterval, true, func(ctx context.Context) (bool, error) {
		left = nil
		for _, name := range gone {
			d := &appsv1.Deployment{}
			if err := kube.Get(ctx, client.ObjectKey{Namespace: o.Install.Namespace, Name: name}, d); err == nil {
				left = append(left, "Deployment "+name)
			} else if !isGone(err) {
				return false, err
			}
		}
		var crds apiextensionsv1.CustomResourceDefinitionList
		if err := kube.List(ctx, &crds, partOfFlux()); err != nil {
			return false, err
		}
		for i := range crds.Items {
			if crds.Items[i].DeletionTimestamp == nil {
				continue
			}
			left = append(left, "CustomResourceDefinition "+crds.Items[i].Name)
			if err := strip(ctx, kube, &crds.Items[i]); err != nil {
				return false, err
			}
		}
		return len(left) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("remove components of Flux from namespace %s: %w: %s left", o.Install.Namespace, err, strings.Join(left, ", "))
	}
	return nil
}

// strip removes the finalizers from the objects of a kind under deletion.
func strip(ctx context.Context, kube client.Client, crd *apiextensionsv1.CustomResourceDefinition) error {
	var list unstructured.UnstructuredList
	list.SetGroupVersionKind(schema.GroupVersionKind{
		Group: crd.Spec.Group, Version: crd.Status.StoredVersions[len(crd.Status.StoredVersions)-1], Kind: crd.Spec.Names.ListKind,
	})
	if err := kube.List(ctx, &list); err != nil {
		if isGone(err) {
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
			return fmt.Errorf("take the finalizers off %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
		}
	}
	return nil
}
