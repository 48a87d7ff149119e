package plans

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/internal/lint/trial"
	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// place identifies an object that a Stack refers to.
type place struct{ namespace, name string }

// manifests returns the Stacks, the Programs and the orders of a build, and the ConfigMaps that its Stacks read, as a stream of YAML
// documents.
func manifests(objects []trial.Object) (string, error) {
	kept := make([]*unstructured.Unstructured, 0, len(objects))
	read := map[place]bool{}
	for _, each := range objects {
		object := &unstructured.Unstructured{}
		if err := json.Unmarshal(each.JSON, &object.Object); err != nil {
			return "", fmt.Errorf("read an object of %s: %w", each.Origin, err)
		}
		kind := object.GroupVersionKind()
		switch {
		case kind.Group == v1.GroupVersion.Group && kind.Kind == "Stack":
			for _, name := range configMapsOf(object) {
				read[place{object.GetNamespace(), name}] = true
			}
		case kind.Group == v1.GroupVersion.Group && kind.Kind == "Program":
		case kind.Group == "" && kind.Kind == "ConfigMap":
		case kind.Group == catalogue.Group:
		default:
			continue
		}
		kept = append(kept, object)
	}
	var stream strings.Builder
	for _, object := range kept {
		if object.GetKind() == "ConfigMap" && !read[place{object.GetNamespace(), object.GetName()}] {
			continue
		}
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			return "", fmt.Errorf("write %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		stream.WriteString("---\n")
		stream.Write(document)
		if stream.Len() > MostManifests {
			return "", fmt.Errorf("the Stacks, Programs, ConfigMaps and orders of the commit have more than %d bytes: a Plan cannot contain them; split the repository", MostManifests)
		}
	}
	return stream.String(), nil
}

// configMapsOf returns the ConfigMaps that a Stack reads. It has none if the object is not a valid Stack: the operator reports that.
func configMapsOf(object *unstructured.Unstructured) []string {
	stack := &v1.Stack{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, stack); err != nil {
		return nil
	}
	names := stack.Spec.Envs
	for _, ref := range stack.Spec.ConfigRef {
		names = append(names, ref.Name)
	}
	return names
}
