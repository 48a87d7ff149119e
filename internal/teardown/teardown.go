// Package teardown deletes the objects of the teams and of Flux from a cluster. It works from the top down, because
// each deletion needs objects below it: it deletes the Stacks while the operator runs, and the objects that Flux applied
// while Flux runs. If a deletion makes no progress for a bounded time, it reports the blocking objects with the next
// command.
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

// Options configures timeouts and the commands in reports.
type Options struct {
	// Patience is how long a deletion may go without progress before it is reported. Required.
	Patience time.Duration
	// Limit limits each wait, even with progress. Required.
	Limit time.Duration
	// Kubectl is the beginning of command lines in reports, for example "kubectl --kubeconfig PATH"; empty means
	// "kubectl".
	Kubectl string
	// FluxLogs is the command that shows the logs of kustomize-controller; empty means "flux logs".
	FluxLogs string
	// Purge is the command that deletes everything regardless of blockers; empty means that reports name none.
	Purge string
}

// Namespaces are the namespaces of a platform.
type Namespaces struct {
	// Flux is the namespace of Flux. A teardown keeps it.
	Flux string
	// Platform is the namespace of the platform's account; its first sync has the same name. Operator is the namespace of
	// the operator.
	Platform, Operator string
	Teams              []string
}

// Cluster is the cluster of a platform for a teardown.
type Cluster struct {
	namespaces Namespaces
	options    Options
	dynamic    dynamic.Interface
	discovery  discovery.DiscoveryInterface
	poll       time.Duration
}

const poll = 200 * time.Millisecond

// clientQPS and clientBurst limit the requests to the API server in each second.
const clientQPS, clientBurst = 100, 200

// New returns the cluster that config connects to. Its identity must be allowed to delete all objects in the namespaces.
func New(config *rest.Config, namespaces Namespaces, options Options) (*Cluster, error) {
	if options.Kubectl == "" {
		options.Kubectl = "kubectl"
	}
	if options.FluxLogs == "" {
		options.FluxLogs = "flux logs"
	}
	// The search for finalizers lists every kind of each namespace.
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = clientQPS, clientBurst
	// Each list of a deprecated kind would write a warning to standard error.
	config.WarningHandler = rest.NoWarnings{}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	found, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return &Cluster{namespaces: namespaces, options: options, dynamic: client, discovery: found, poll: poll}, nil
}

// Resources whose objects block or delay a namespace's deletion.
var (
	pods           = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	namespaces     = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	stacks         = schema.GroupVersionResource{Group: "pulumi.com", Version: "v1", Resource: "stacks"}
	kustomizations = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
	helmReleases   = schema.GroupVersionResource{Group: "helm.toolkit.fluxcd.io", Version: "v2", Resource: "helmreleases"}

	// appliers are resources whose objects recreate the objects that they applied.
	appliers = []schema.GroupVersionResource{kustomizations, helmReleases}

	// slow are resources that the namespace controller would delete one after the other. Owners of pods come first.
	slow = []schema.GroupVersionResource{
		{Group: "apps", Version: "v1", Resource: "deployments"},
		{Group: "apps", Version: "v1", Resource: "statefulsets"},
		{Group: "apps", Version: "v1", Resource: "daemonsets"},
		{Group: "batch", Version: "v1", Resource: "cronjobs"},
		{Group: "batch", Version: "v1", Resource: "jobs"},
		{Group: "apps", Version: "v1", Resource: "replicasets"},
		pods,
		{Version: "v1", Resource: "persistentvolumeclaims"},
		{Group: "notification.toolkit.fluxcd.io", Version: "v1", Resource: "receivers"},
		{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"},
		{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "ocirepositories"},
		{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "buckets"},
	}
)

// list lists objects, of all namespaces if namespace is empty. It returns none if the cluster does not know the kind.
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

// remove deletes an object with background propagation. An object that is gone already is no error.
func (c *Cluster) remove(ctx context.Context, kind schema.GroupVersionResource, object *unstructured.Unstructured) error {
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	background, uid := metav1.DeletePropagationBackground, object.GetUID()
	err := c.dynamic.Resource(kind).Namespace(object.GetNamespace()).Delete(ctx, object.GetName(), metav1.DeleteOptions{
		PropagationPolicy: &background,
		// An object of the same name with another UID was created in the meantime. It must stay.
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

// failed wraps the error of a failed request to the API server.
func (c *Cluster) failed(what string, err error) error {
	return fmt.Errorf("%s: %w: run this again when the API server answers", what, err)
}

func isGone(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// describe returns the name of an object for reports.
func describe(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return object.GetKind() + " " + object.GetName()
	}
	return object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
}
