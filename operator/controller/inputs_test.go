package controller

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

func TestVersionsOfInputsGiveNothingAway(t *testing.T) {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "team", Name: name, UID: "u"} }
	secret := &corev1.Secret{ObjectMeta: meta("token"), Data: map[string][]byte{"accessToken": []byte("canary"), "other": []byte("unused")}}
	configMap := &corev1.ConfigMap{ObjectMeta: meta("settings"), Data: map[string]string{"A": "1"}}
	reader := fake.NewClientBuilder().WithObjects(secret, configMap).Build()
	spec := &v1.StackSpec{AccessTokenSecret: "token", Envs: []string{"settings"}}
	resolve := func() (*inputs, *resolver, []dependency) {
		t.Helper()
		var read []dependency
		r := newResolver(reader, "team", func(on dependency) { read = append(read, on) }, nil)
		in, err := r.resolve(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		return in, r, read
	}

	in, r, read := resolve()
	if in.env["PULUMI_ACCESS_TOKEN"] != "canary" || in.env["A"] != "1" || !slices.Equal(in.secrets, []string{"canary"}) {
		t.Errorf("environment %v with secrets %v", in.env, in.secrets)
	}
	if want := []dependency{{scope{configMapResource, "team"}, "settings"}, {scope{secretResource, "team"}, "token"}}; !slices.Equal(read, want) {
		t.Errorf("it depends on %v, want %v", read, want)
	}
	before := r.digest()
	if _, same, _ := resolve(); same.digest() != before {
		t.Error("the digest changes by itself")
	}

	// A change of a ConfigMap's metadata does not affect the Stack.
	configMap.Labels = map[string]string{"a": "b"}
	configMap.ResourceVersion = ""
	if err := reader.Update(t.Context(), configMap); err != nil {
		t.Fatal(err)
	}
	if _, same, _ := resolve(); same.digest() != before {
		t.Error("the digest changes with a label of the ConfigMap")
	}
	secret.Data["accessToken"], secret.ResourceVersion = []byte("canary-2"), ""
	if err := reader.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	_, changed, _ := resolve()
	if changed.digest() == before {
		t.Error("the digest stays as the Secret changes")
	}
	for object, version := range changed.versions {
		if strings.Contains(version, "canary") {
			t.Errorf("the version of %s holds the secret", object)
		}
	}
}
