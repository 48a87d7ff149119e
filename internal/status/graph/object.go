package graph

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/snapshot"
)

// Object is an object with its item of the report. Content is nil for an object that does not exist.
type Object struct {
	status.Item
	Content *unstructured.Unstructured
}

// Key returns the key of the object.
func (o *Object) Key() snapshot.Key { return snapshot.NewKey(o.Kind, o.Namespace, o.Name) }

// Home returns the namespace under which the report shows an object.
func (o *Object) Home() string {
	if o.Kind == "Namespace" {
		return o.Name
	}
	return o.Namespace
}

// Revision returns the revision of a source's artifact, or "" for nil and for a source without an artifact.
func (o *Object) Revision() string {
	if o == nil {
		return ""
	}
	return o.Text("status", "artifact", "revision")
}

// ShortRevision shortens a revision for people, who need only the first characters of the commit: "main@af7be798".
func ShortRevision(full string) string {
	branch, commit, found := strings.Cut(full, "@")
	if !found {
		branch, commit = "", full
	}
	_, sum, found := strings.Cut(commit, ":")
	if !found {
		sum = commit
	}
	const shortest = 8
	if len(sum) > shortest {
		sum = sum[:shortest]
	}
	return strings.Trim(branch+"@"+sum, "@")
}

// downManager is the field manager of a suspension by `strata down`.
const downManager = "strata-down"

// SuspendedByDown reports whether an interrupted `strata down` has suspended a source or sync.
func (o *Object) SuspendedByDown() bool {
	return slices.ContainsFunc(o.Content.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == downManager })
}

// Text returns a string field, or "".
func Text(u *unstructured.Unstructured, path ...string) string {
	if u == nil {
		return ""
	}
	s, _, _ := unstructured.NestedString(u.Object, path...)
	return s
}

// Text returns a string field of the object's content, or "".
func (o *Object) Text(path ...string) string { return Text(o.Content, path...) }

// Members returns the objects in a list field of the object's content.
func (o *Object) Members(path ...string) []map[string]any {
	if o.Content == nil {
		return nil
	}
	return ObjectsOf(unstructured.NestedSlice(o.Content.Object, path...))
}

// ObjectsOf returns the objects in a result of unstructured.NestedSlice.
func ObjectsOf(list []any, _ bool, _ error) []map[string]any {
	var found []map[string]any
	for _, each := range list {
		if m, ok := each.(map[string]any); ok {
			found = append(found, m)
		}
	}
	return found
}

// At returns a string in nested maps, or "".
func At(m map[string]any, path ...string) string {
	s, _, _ := unstructured.NestedString(m, path...)
	return s
}
