package status

import (
	"cmp"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-platform/strata/components/hop"
)

// kind is a kind of objects that this package reads. The order of kinds is the order of a namespace's objects in a
// report.
type kind struct {
	name string
	gvr  schema.GroupVersionResource
	// nameOnly reads only the metadata, because the content is unnecessary or secret.
	nameOnly bool
}

var kinds = [...]kind{
	{"Namespace", schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, false},
	{"ClusterRole", schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}, true},
	{"ClusterRoleBinding", schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}, true},
	{"ValidatingAdmissionPolicy", schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}, true},
	{"ValidatingAdmissionPolicyBinding", schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"}, true},
	{"ServiceAccount", schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}, true},
	{"RoleBinding", schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"}, true},
	{hop.PolicyKind, schema.GroupVersionResource{Group: hop.PolicyGroup, Version: hop.PolicyVersion, Resource: hop.PolicyPlural}, false},
	{"Secret", schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, true},
	{"ConfigMap", schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, true},
	{"Receiver", schema.GroupVersionResource{Group: "notification.toolkit.fluxcd.io", Version: "v1", Resource: "receivers"}, false},
	{"GitRepository", schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}, false},
	{"OCIRepository", schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "ocirepositories"}, false},
	{"Bucket", schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "buckets"}, false},
	{"Kustomization", schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}, false},
	{"Program", schema.GroupVersionResource{Group: "pulumi.com", Version: "v1", Resource: "programs"}, false},
	{"Stack", schema.GroupVersionResource{Group: "pulumi.com", Version: "v1", Resource: "stacks"}, false},
	{"PersistentVolumeClaim", schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}, false},
	{"Deployment", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, false},
	{"StatefulSet", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}, false},
	{"ReplicaSet", schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}, true},
	{"Job", schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, false},
	{"Pod", schema.GroupVersionResource{Version: "v1", Resource: "pods"}, false},
}

// sourceKinds are the kinds of sources that source-controller fetches.
var sourceKinds = []string{"GitRepository", "OCIRepository", "Bucket"}

// key identifies an object.
type key struct{ kind, namespace, name string }

// object is an object and its state. content is nil for an object that does not exist.
type object struct {
	Item
	content *unstructured.Unstructured
}

func (o *object) key() key { return key{o.Kind, o.Namespace, o.Name} }

// world holds the objects of a platform, and the objects that should exist and do not.
type world struct {
	scope   Scope
	objects map[key]*object
	// served are the kinds that the API server serves.
	served map[string]bool
	// events returns the latest warning about an object, or "".
	events func(o *object) (reason, message string)
	// failedAt returns the revision in the latest warning about a Kustomization, or "".
	failedAt func(o *object) string

	index index
}

// snapshot is the state of a cluster at one moment: the objects of each of kinds, in that order.
type snapshot struct {
	objects [len(kinds)][]*unstructured.Unstructured
	// served says for each of kinds whether the API server serves it.
	served [len(kinds)]bool
	// warnings returns all events of type Warning.
	warnings func() []*unstructured.Unstructured
}

// newWorld returns the world of a snapshot.
func newWorld(f *snapshot, scope Scope) *world {
	w := &world{scope: scope, objects: map[key]*object{}, served: map[string]bool{}}
	latest := sync.OnceValue(func() map[key]*unstructured.Unstructured { return latestWarnings(f.warnings()) })
	w.events = func(o *object) (string, string) {
		warning := latest()[o.key()]
		return text(warning, "reason"), text(warning, "message")
	}
	w.failedAt = func(o *object) string {
		if warning := latest()[o.key()]; warning != nil {
			return warning.GetAnnotations()[revisionOf]
		}
		return ""
	}
	for i, k := range kinds {
		w.served[k.name] = f.served[i]
		for _, content := range f.objects[i] {
			w.add(k.name, content)
		}
	}
	return w
}

// revisionOf is the annotation of an event with the event's revision.
const revisionOf = "kustomize.toolkit.fluxcd.io/revision"

// latestWarnings maps objects to the latest events about them.
func latestWarnings(events []*unstructured.Unstructured) map[key]*unstructured.Unstructured {
	latest := map[key]*unstructured.Unstructured{}
	for _, e := range events {
		about := key{text(e, "involvedObject", "kind"), text(e, "involvedObject", "namespace"), text(e, "involvedObject", "name")}
		if last := latest[about]; last == nil || timeOf(e) >= timeOf(last) {
			latest[about] = e
		}
	}
	return latest
}

func timeOf(event *unstructured.Unstructured) string {
	return cmp.Or(text(event, "lastTimestamp"), text(event, "eventTime"))
}

func (w *world) add(kind string, content *unstructured.Unstructured) *object {
	o := &object{content: content, Item: Item{
		Kind: kind, Namespace: content.GetNamespace(), Name: content.GetName(), Runtime: content.GetAnnotations()[RuntimeAnnotation],
	}}
	o.Layer = w.scope.layer(o.key())
	w.put(o)
	return o
}

// get returns an object, or nil if it does not exist.
func (w *world) get(kind, namespace, name string) *object {
	return w.objects[key{kind, namespace, name}]
}

// need returns an object. If it does not exist, need adds and returns an object with the state missing.
func (w *world) need(kind, namespace, name string) *object {
	if o := w.get(kind, namespace, name); o != nil {
		return o
	}
	k := key{kind, namespace, name}
	o := &object{Item: Item{
		Layer: w.scope.layer(k), Kind: kind, Namespace: namespace, Name: name, Reason: reasonMissing, Message: "there is none",
	}}
	w.put(o)
	return o
}

// text returns a string field, or "".
func text(u *unstructured.Unstructured, path ...string) string {
	if u == nil {
		return ""
	}
	s, _, _ := unstructured.NestedString(u.Object, path...)
	return s
}

func (o *object) text(path ...string) string { return text(o.content, path...) }

// members returns the objects in a list field.
func (o *object) members(path ...string) []map[string]any {
	if o.content == nil {
		return nil
	}
	return objectsOf(unstructured.NestedSlice(o.content.Object, path...))
}

// objectsOf returns the objects in a result of unstructured.NestedSlice.
func objectsOf(list []any, _ bool, _ error) []map[string]any {
	var found []map[string]any
	for _, each := range list {
		if m, ok := each.(map[string]any); ok {
			found = append(found, m)
		}
	}
	return found
}

// at returns a string in nested maps, or "".
func at(m map[string]any, path ...string) string {
	s, _, _ := unstructured.NestedString(m, path...)
	return s
}
