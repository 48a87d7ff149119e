package kinds

import (
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
)

// atField matches one error of the conversion of an object to its type.
var atField = regexp.MustCompile(`^\s*(\.\S.*?): (.*)$`)

// typed returns the unknown fields of an object and the fields of wrong types. found is nil for Kubernetes' own kinds.
func (k *Kinds) typed(object *unstructured.Unstructured, found *custom) []Refusal {
	var err error
	switch kind := object.GroupVersionKind(); {
	case found != nil:
		_, err = found.typed.ObjectToTyped(object)
	case scheme.Scheme.Recognizes(kind):
		_, err = k.native().ObjectToTyped(object)
	}
	if err == nil {
		return nil
	}
	version, kind := object.GroupVersionKind().ToAPIVersionAndKind()
	what := fmt.Sprintf("failed to create typed patch object (%s/%s; %s, Kind=%s): ", object.GetNamespace(), object.GetName(), version, kind)
	var all []Refusal
	for line := range strings.SplitSeq(strings.TrimPrefix(err.Error(), "errors:\n"), "\n") {
		if match := atField.FindStringSubmatch(line); match != nil {
			all = append(all, Refusal{Field: strings.TrimPrefix(match[1], "."), Message: what + strings.TrimSpace(line)})
		}
	}
	if len(all) == 0 {
		all = []Refusal{{Message: what + err.Error()}}
	}
	return all
}

// refused returns each error as the refusal of the API server that has only this error.
func refused(object *unstructured.Unstructured, errs field.ErrorList) []Refusal {
	var all []Refusal
	for _, each := range errs {
		status := apierrors.NewInvalid(object.GroupVersionKind().GroupKind(), object.GetName(), field.ErrorList{each})
		all = append(all, Refusal{Field: strings.TrimPrefix(each.Field, "<nil>"), Reason: metav1.StatusReasonInvalid, Message: status.Error()})
	}
	return all
}

// Forbidden returns the refusal of a patch by an account without the permission.
func Forbidden(object *unstructured.Unstructured, resource, group, namespace, user string) Refusal {
	scope := fmt.Sprintf("in the namespace %q", namespace)
	if namespace == "" {
		scope = "at the cluster scope"
	}
	gr := object.GroupVersionKind().GroupVersion().WithResource(resource).GroupResource()
	denied := apierrors.NewForbidden(gr, object.GetName(), fmt.Errorf("User %q cannot patch resource %q in API group %q %s", user, resource, group, scope))
	return Refusal{Field: "kind", Reason: metav1.StatusReasonForbidden, Message: denied.Error()}
}
