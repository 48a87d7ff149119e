// Package teardown empties a cluster of what the teams and Flux put into it, from the top, while what each thing needs in
// order to go still lives: the Stacks while the operator runs, what Flux applied while Flux runs. What holds it up is
// reported with the next command, after a bounded time.
package teardown

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Options say how long to wait, and how the next command is written.
type Options struct {
	// Patience is how long something that is to go may stay without any progress before it is reported. Required.
	Patience time.Duration
	// Limit bounds each wait even where there is progress. Required.
	Limit time.Duration
	// Kubectl begins the command lines of reports, for example "kubectl --kubeconfig PATH"; "kubectl" by default.
	Kubectl string
	// FluxLogs is the command that shows what kustomize-controller says, "flux logs" by default.
	FluxLogs string
	// Purge is the command that goes on whatever holds it up. Without one none is named.
	Purge string
}

// Namespaces are those of a platform.
type Namespaces struct {
	// Flux is where Flux runs. It is not deleted here.
	Flux string
	// Platform is that of the platform's account; its first sync has the same name. Operator is where the operator runs.
	Platform, Operator string
	Teams              []string
}

// Cluster is the cluster of a platform that is to be taken down.
type Cluster struct {
	namespaces Namespaces
	options    Options
	dynamic    dynamic.Interface
	discovery  discovery.DiscoveryInterface
	poll       time.Duration
}

const poll = 200 * time.Millisecond

// New returns the cluster that config leads to, as somebody who may delete all that is in the namespaces.
func New(config *rest.Config, namespaces Namespaces, options Options) (*Cluster, error) {
	if options.Kubectl == "" {
		options.Kubectl = "kubectl"
	}
	if options.FluxLogs == "" {
		options.FluxLogs = "flux logs"
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return &Cluster{namespaces: namespaces, options: options, dynamic: client, discovery: found, poll: poll}, nil
}

// Resources whose objects keep others there, or take time to go.
var (
	namespaces     = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	stacks         = schema.GroupVersionResource{Group: "pulumi.com", Version: "v1", Resource: "stacks"}
	kustomizations = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
	helmReleases   = schema.GroupVersionResource{Group: "helm.toolkit.fluxcd.io", Version: "v2", Resource: "helmreleases"}

	// appliers bring back what is deleted below them.
	appliers = []schema.GroupVersionResource{kustomizations, helmReleases}

	// slow are resources of which a namespace's own end would wait for each in turn: who makes pods first.
	slow = []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "apps", Version: "v1", Resource: "statefulsets"},
		{Group: "apps", Version: "v1", Resource: "daemonsets"},
		{Group: "batch", Version: "v1", Resource: "cronjobs"},
		{Group: "batch", Version: "v1", Resource: "jobs"},
		{Group: "apps", Version: "v1", Resource: "replicasets"},
		{Version: "v1", Resource: "pods"},
		{Version: "v1", Resource: "persistentvolumeclaims"},
		{Group: "notification.toolkit.fluxcd.io", Version: "v1", Resource: "receivers"},
		{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"},
		{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "ocirepositories"},
		{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "buckets"},
	}
)

// list lists objects, of all namespaces where namespace is empty; none where the cluster does not know the kind.
func (c *Cluster) list(ctx context.Context, kind schema.GroupVersionResource, namespace string) ([]unstructured.Unstructured, error) {
	found, err := c.dynamic.Resource(kind).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if isGone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, c.failed("list "+kind.Resource, err)
	}
	return found.Items, nil
}

// remove asks for an object's end, which what depends on it follows. That it is gone already is no error.
func (c *Cluster) remove(ctx context.Context, kind schema.GroupVersionResource, object *unstructured.Unstructured) error {
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	background, uid := metav1.DeletePropagationBackground, object.GetUID()
	err := c.dynamic.Resource(kind).Namespace(object.GetNamespace()).Delete(ctx, object.GetName(), metav1.DeleteOptions{
		PropagationPolicy: &background,
		// One of the same name that was made meanwhile is another one.
		Preconditions: &metav1.Preconditions{UID: &uid},
	})
	if isGone(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return c.failed("delete "+describe(object), err)
	}
	return nil
}

// failed is the error of a request that the API server did not answer as it should.
func (c *Cluster) failed(what string, err error) error {
	return fmt.Errorf("%s: %w: run this again once the API server answers", what, err)
}

func isGone(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// describe names an object as reports do.
func describe(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetKind() + " " + object.GetName()
	}
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}
