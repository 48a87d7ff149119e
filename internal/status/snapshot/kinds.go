package snapshot

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/strata-platform/strata/components/hop"
)

// Kind is a kind of objects that a snapshot contains.
type Kind struct {
	Name     string
	Resource schema.GroupVersionResource
	// nameOnly reads only the metadata, because the content is unnecessary or secret.
	nameOnly bool
}

// Kinds are the kinds of a snapshot, in the order in which a report shows the objects of a namespace.
var Kinds = [...]Kind{
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

// Key identifies an object of a platform. Namespace is empty for an object of the cluster.
type Key struct{ Kind, Namespace, Name string }

// NewKey returns the key of an object.
func NewKey(kind, namespace, name string) Key { return Key{kind, namespace, name} }
