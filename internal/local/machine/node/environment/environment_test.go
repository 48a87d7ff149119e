package environment

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
)

func TestExpand(t *testing.T) {
	env := map[string]string{"A": "one", "B": "$(A)", "EMPTY": "", "WITH.DOT-S": "dotted"}
	for name, test := range map[string]struct{ in, want string }{
		"a known name is replaced":            {"x-$(A)-y", "x-one-y"},
		"an empty value is a value":           {"[$(EMPTY)]", "[]"},
		"a name with dots and dashes":         {"$(WITH.DOT-S)", "dotted"},
		"two in a row":                        {"$(A)$(A)", "oneone"},
		"an unknown name stays":               {"$(NONE)/$(A)", "$(NONE)/one"},
		"a value is not expanded again":       {"$(B)", "$(A)"},
		"an escaped reference is no more one": {"$$(A)", "$(A)"},
		"an escaped dollar, then a reference": {"$$$(A)", "$one"},
		"two escaped dollars":                 {"$$$$(A)", "$$(A)"},
		"a lone dollar stays":                 {"5$ and $A", "5$ and $A"},
		"a dollar at the end stays":           {"end$", "end$"},
		"an open reference stays":             {"$(A", "$(A"},
		"a nested reference is one name":      {"$($(A))", "$($(A))"},
		"nothing":                             {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Expand(test.in, env); got != test.want {
				t.Errorf("%q becomes %q, want %q", test.in, got, test.want)
			}
		})
	}
}

func TestEnvironmentIsResolvedInOrder(t *testing.T) {
	spec := corev1.Container{Name: "main", Image: "example.com/program:v1", Env: []corev1.EnvVar{
		{Name: "EARLY", Value: "$(LATE)"},
		{Name: "LATE", Value: "late"},
		{Name: "BOTH", Value: "$(LATE)-$(NAME)"},
		{Name: "NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		{Name: "AGAIN", Value: "$(NAME)"},
		{Name: "LATE", Value: "later than $(LATE)"},
	}}
	object := nodetest.Pod(corev1.PodSpec{Containers: []corev1.Container{spec}})
	env, err := Resolver{Pod: func() *corev1.Pod { return object }}.Variables(t.Context(), &spec)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"EARLY": "$(LATE)", "BOTH": "late-$(NAME)", "AGAIN": "one", "LATE": "later than late",
	} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
}
