package breaking_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"context"

	"github.com/strata-platform/strata/internal/breaking"
)

// kindOf returns a definition of the kind Gadget with a version v1 that has the fields a and b.
const kindOf = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: string}, b: {type: string}}}}}}
`

func definitions(t *testing.T, content string) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	list, err := breaking.Definitions(fstest.MapFS{"crd/a.yaml": {Data: []byte(content)}, "crd/kustomization.yaml": {Data: []byte("kind: Kustomization\n")}}, "crd")
	if err != nil || len(list) != 1 {
		t.Fatalf("%d definitions, %v", len(list), err)
	}
	return list
}

func TestNewKindsMustNotLoseWhatTheClusterHas(t *testing.T) {
	start(t)
	old := definitions(t, kindOf)
	if list, err := breaking.Kinds(t.Context(), server.config, old); err != nil || len(list) != 1 || !list[0].Missing {
		t.Fatalf("before the kind exists: %+v, %v", list, err)
	}
	if err := server.Create(t.Context(), old[0].DeepCopy()); err != nil {
		t.Fatal(err)
	}
	gadget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": map[string]any{"namespace": "default", "name": "one"}, "spec": map[string]any{"a": "1"},
	}}
	// The API server serves a new kind a moment after it has accepted it.
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 30*time.Second, true, func(ctx context.Context) (bool, error) {
		return server.Create(ctx, gadget.DeepCopy()) == nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if list, err := breaking.Kinds(t.Context(), server.config, old); err != nil || len(list) != 0 {
		t.Errorf("the same kind differs: %+v, %v", list, err)
	}
	for name, test := range map[string]struct{ from, to, want string }{
		"a field that no object sets":  {", b: {type: string}", "", ""},
		"a new field":                  {"b: {type: string}", "b: {type: string}, c: {type: string}", ""},
		"a field with data":            {"a: {type: string}, ", "", "Gadget default/one: spec.a is no longer a field"},
		"another type":                 {"a: {type: string}", "a: {type: integer}", "Gadget default/one: spec.a"},
		"a version that is not served": {"served: true", "served: false", "gadgets.example.com no longer serves the version v1"},
		"a stored version":             {"name: v1\n", "name: v2\n", "gadgets.example.com drops the version v1, in which the cluster has stored objects"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := strings.Replace(kindOf, test.from, test.to, 1)
			if changed == kindOf {
				t.Fatal("the test changes nothing")
			}
			next := definitions(t, changed)
			if list, err := breaking.Kinds(t.Context(), server.config, next); err != nil || len(list) != 1 || !list[0].Differs && len(list[0].Dropped) == 0 {
				t.Errorf("the difference is %+v, %v", list, err)
			}
			err := breaking.RefuseKinds(t.Context(), server.config, next)
			switch {
			case test.want == "" && err != nil:
				t.Errorf("it is refused: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n")):
				t.Errorf("the error is %v, want %q", err, test.want)
			}
		})
	}
}
