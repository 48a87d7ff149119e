package orders

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/handoff/keys"
	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// stackOf returns the Stack of an order. The Program's configuration holds the fields of the order, the names, and the
// context of the platform.
func stackOf(of key, o order, n names) (*v1.Stack, error) {
	values := map[string]any{"team": n.team, "order": n.order, "name": n.content(), "results": n.stack()}
	// The order's fields must not replace the names: a team that sets name could take over another team's database.
	fields := o.fields()
	maps.DeleteFunc(fields, func(name string, _ any) bool { _, is := values[name]; return is })
	maps.Copy(values, fields)
	stack := &v1.Stack{}
	stack.SetGroupVersionKind(v1.GroupVersion.WithKind(v1.StackKind))
	stack.Namespace, stack.Name = of.kind.Namespace(), n.stack()
	stack.Labels = labelsOf(of)
	stack.Spec = v1.StackSpec{
		Stack: n.stack(), ProgramRef: &v1.ProgramReference{Name: of.kind.Singular}, ServiceAccountName: of.kind.Account(),
		DestroyOnFinalize: o.destroys(),
		Config:            map[string]apiextensionsv1.JSON{}, ConfigRef: map[string]v1.ConfigMapRef{}, EnvRefs: map[string]v1.ResourceRef{},
	}
	for name, value := range values {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode spec.%s: %w", name, err)
		}
		stack.Spec.Config[name] = apiextensionsv1.JSON{Raw: raw}
	}
	for _, name := range keys.Config() {
		delete(stack.Spec.Config, name)
		stack.Spec.ConfigRef[name] = v1.ConfigMapRef{Name: keys.TenantName, Key: name}
	}
	for _, name := range keys.Secret() {
		stack.Spec.EnvRefs[name] = v1.ResourceRef{Type: v1.ResourceSelectorSecret, Secret: &v1.SecretSelector{Name: keys.TenantName, Key: name}}
	}
	return stack, nil
}

// explicit encodes a Stack with its field destroyOnFinalize, even if that is false. The usual encoding omits false, and the
// platform's mutating policy then fills in true: the deletion of an order would destroy resources that the order keeps.
func explicit(stack *v1.Stack) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stack)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: fields}
	unstructured.RemoveNestedField(fields, "status")
	return object, unstructured.SetNestedField(fields, stack.Spec.DestroyOnFinalize, "spec", "destroyOnFinalize")
}

func labelsOf(of key) map[string]string {
	return map[string]string{catalogue.KindLabel: of.kind.Singular, catalogue.NamespaceLabel: of.namespace, catalogue.OrderLabel: of.name}
}

// quoted returns a list of texts as JSON.
func quoted(texts []string) []byte {
	if len(texts) == 0 {
		return []byte("null")
	}
	// A list of texts always encodes.
	encoded, _ := json.Marshal(texts)
	return encoded
}

// Party returns the namespace whose share of the operator's slots a Stack uses. For the Stack of an order this is the namespace
// of the team, so that a team gets no second share by orders, and its orders do not delay those of other teams. A team cannot
// forge the name of such a Stack: only the operator and the platform write Stacks in the namespaces of entries.
func Party(stack types.NamespacedName) string {
	// An order's name has no two hyphens in a row.
	end := strings.LastIndex(stack.Name, separator)
	if end < 0 || !strings.HasPrefix(stack.Namespace, teamPrefix+accountPrefix) {
		return stack.Namespace
	}
	return teamPrefix + stack.Name[:end]
}
