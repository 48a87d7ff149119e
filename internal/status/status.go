// Package status looks at a platform from layer to layer and finds the root cause of what is not ready.
package status

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Names of the layers, from the lowest.
const (
	LayerBootstrap = "bootstrap"
	LayerPlatform  = "platform"
	LayerSync      = "sync"
	LayerTeam      = "team"
)

// Item is one object of the platform. Its JSON form is stable.
type Item struct {
	Layer     string `json:"layer"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Ready     bool   `json:"ready"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	// Runtime is "process" or "simulated" for pods of the local target, otherwise empty.
	Runtime string `json:"runtime"`
	// RootCause marks the one item that explains why the platform is not ready.
	RootCause bool `json:"rootCause"`
}

// Report is the state of a platform. Its JSON form is stable.
type Report struct {
	Ready bool   `json:"ready"`
	Items []Item `json:"items"`
}

// Namespaces says which namespaces belong to which layer.
type Namespaces struct {
	Flux, Platform, Operator string
	Teams                    []string
}

// RuntimeAnnotation says of a pod how the local node runs it.
const RuntimeAnnotation = "strata.dev/runtime"

// kind is a kind of object that the report shows. Within a layer the order of kinds is that of causes: what comes
// later is explained by what comes before it.
type kind struct {
	gvr  schema.GroupVersionResource
	name string
}

var kinds = []kind{
	{schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}, "GitRepository"},
	{schema.GroupVersionResource{Group: "pulumi.com", Version: "v1", Resource: "stacks"}, "Stack"},
	{schema.GroupVersionResource{Version: "v1", Resource: "pods"}, "Pod"},
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "Deployment"},
	{schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}, "Kustomization"},
}

// Collect looks at everything that Flux and the operator are to bring about. Kinds that the cluster does not know yet
// are shown as missing where a layer cannot be ready without them.
func Collect(ctx context.Context, config *rest.Config, namespaces Namespaces) ([]Item, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("look at the cluster: %w", err)
	}
	var items []Item
	add := func(layer, namespace string, filter func(*unstructured.Unstructured) bool, required ...string) error {
		found, err := list(ctx, client, layer, namespace, filter)
		if err != nil {
			return err
		}
		for _, name := range required {
			if !slices.ContainsFunc(found, func(i Item) bool { return i.Kind == name }) {
				items = append(items, Item{Layer: layer, Kind: name, Namespace: namespace, Reason: "Missing", Message: "there is none yet"})
			}
		}
		items = append(items, found...)
		return nil
	}
	root := func(o *unstructured.Unstructured) bool {
		return o.GetKind() == "GitRepository" || o.GetName() == namespaces.Platform
	}
	above := func(o *unstructured.Unstructured) bool { return !root(o) }
	err = add(LayerPlatform, namespaces.Flux, nil, "Deployment", "Kustomization")
	if err == nil {
		err = add(LayerPlatform, namespaces.Platform, root, "GitRepository", "Kustomization")
	}
	if err == nil {
		err = add(LayerSync, namespaces.Platform, above, "Kustomization")
	}
	if err == nil {
		err = add(LayerSync, namespaces.Operator, nil, "Deployment")
	}
	for _, team := range namespaces.Teams {
		if err == nil {
			err = add(LayerTeam, team, nil, "GitRepository", "Kustomization")
		}
	}
	if err != nil {
		return nil, err
	}
	return items, nil
}

// followers are reasons that say no more than that something else is not ready.
var followers = []string{"Progressing", "ProgressingWithRetry", "DependencyNotReady", "HealthCheckFailed", "Missing", "InProgress", "ContainersNotReady"}

// NewReport marks the root cause among items, which are in the order of layers and, within a layer, of causes: the
// first that fails for a reason of its own, or else the first that is not ready.
func NewReport(items []Item) Report {
	cause := -1
	for i, item := range items {
		if item.Ready {
			continue
		}
		own := !slices.Contains(followers, item.Reason)
		if cause < 0 || own {
			cause = i
		}
		if own {
			break
		}
	}
	if cause >= 0 {
		items[cause].RootCause = true
	}
	return Report{Ready: cause < 0, Items: items}
}

// RootCause returns the item that explains why the platform is not ready.
func (r Report) RootCause() (Item, bool) {
	for _, i := range r.Items {
		if i.RootCause {
			return i, true
		}
	}
	return Item{}, false
}

// String is the item in one line: what it is, and why it is not ready.
func (i Item) String() string {
	name := i.Kind
	if i.Namespace != "" {
		name += " " + i.Namespace + "/" + i.Name
	} else if i.Name != "" {
		name += " " + i.Name
	}
	if i.Ready {
		return name
	}
	why := i.Reason
	if i.Message != "" {
		why = strings.TrimPrefix(why+": "+oneLine(i.Message), ": ")
	}
	return strings.TrimSuffix(name, "/") + ": " + why
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func list(ctx context.Context, client dynamic.Interface, layer, namespace string, filter func(*unstructured.Unstructured) bool) ([]Item, error) {
	var items []Item
	for _, k := range kinds {
		objects, err := client.Resource(k.gvr).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list %s in %s: %w", k.gvr.Resource, namespace, err)
		}
		for i := range objects.Items {
			o := &objects.Items[i]
			if filter == nil || filter(o) {
				items = append(items, item(layer, k, o))
			}
		}
	}
	return items, nil
}

func item(layer string, k kind, o *unstructured.Unstructured) Item {
	i := Item{Layer: layer, Kind: k.name, Namespace: o.GetNamespace(), Name: o.GetName(), Runtime: o.GetAnnotations()[RuntimeAnnotation]}
	if k.name == "Deployment" {
		i.Ready, i.Reason, i.Message = computed(o)
		return i
	}
	i.Ready, i.Reason, i.Message = ready(o)
	if k.name == "Pod" && !i.Ready {
		i.Ready, i.Reason, i.Message = podReason(o, i.Reason, i.Message)
	}
	return i
}

// ready reads the Ready condition. One that speaks of an older generation does not count.
func ready(o *unstructured.Unstructured) (bool, string, string) {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		if !ok || condition["type"] != "Ready" {
			continue
		}
		reason, _ := condition["reason"].(string)
		message, _ := condition["message"].(string)
		observed, found, _ := unstructured.NestedInt64(condition, "observedGeneration")
		if found && observed != o.GetGeneration() {
			return false, "Progressing", "the latest change is not taken up yet"
		}
		return condition["status"] == "True", reason, message
	}
	return false, "Progressing", "nothing is reported yet"
}

// computed is the state as kstatus computes it.
func computed(o *unstructured.Unstructured) (bool, string, string) {
	result, err := status.Compute(o)
	if err != nil {
		return false, "Unknown", err.Error()
	}
	return result.Status == status.CurrentStatus, string(result.Status), result.Message
}

// podReason takes the reason of a container that waits, which tells more than that a container is not ready. A pod
// that has completed is ready.
func podReason(o *unstructured.Unstructured, reason, message string) (bool, string, string) {
	if phase, _, _ := unstructured.NestedString(o.Object, "status", "phase"); phase == "Succeeded" {
		return true, "Completed", ""
	}
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		statuses, _, _ := unstructured.NestedSlice(o.Object, "status", field)
		for _, s := range statuses {
			container, _ := s.(map[string]any)
			waiting, ok, _ := unstructured.NestedStringMap(container, "state", "waiting")
			if ok && waiting["reason"] != "PodInitializing" {
				return false, waiting["reason"], waiting["message"]
			}
		}
	}
	return false, reason, message
}
