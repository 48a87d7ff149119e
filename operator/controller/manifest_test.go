package controller_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

func TestAPIServerAcceptsEveryField(t *testing.T) {
	c := startCluster(t)
	tm := newTeam(t, c)
	strict := client.WithFieldValidation(c.WithWatch, metav1.FieldValidationStrict)
	for _, file := range []string{"stack.yaml", "program.yaml"} {
		t.Run(file, func(t *testing.T) {
			manifest, err := os.ReadFile(filepath.Join("..", "api", "v1", "testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(manifest, &object.Object); err != nil {
				t.Fatal(err)
			}
			object.SetNamespace(tm.namespace)
			if err := strict.Create(t.Context(), object); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAPIServerRefuses(t *testing.T) {
	c := startCluster(t)
	tm := newTeam(t, c)
	for name, tc := range map[string]struct{ manifest, message string }{
		"a Stack with too long a name": {
			"kind: Stack\nmetadata: {name: " + strings.Repeat("x", 43) + "}\nspec: {stack: dev}", "no more than 42 characters",
		},
		"a Stack without a stack":             {"kind: Stack\nmetadata: {name: a}\nspec: {}", "spec.stack: Required"},
		"a Program's resource without a type": {"kind: Program\nmetadata: {name: a}\nprogram: {resources: {r: {}}}", "program.resources.r.type: Required"},
		"a config key of an unknown type":     {"kind: Program\nmetadata: {name: a}\nprogram: {configuration: {c: {type: Colour}}}", `Unsupported value: "Colour"`},
	} {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte("apiVersion: pulumi.com/v1\n"+tc.manifest), &object.Object); err != nil {
				t.Fatal(err)
			}
			object.SetNamespace(tm.namespace)
			if err := c.Create(t.Context(), object); err == nil || !strings.Contains(err.Error(), tc.message) {
				t.Errorf("error %v, want one about %q", err, tc.message)
			}
		})
	}
}
