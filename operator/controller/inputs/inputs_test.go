package inputs

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/dependents"
)

func TestVersionsOfInputsRevealNoSecrets(t *testing.T) {
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "team", Name: name, UID: "u"} }
	secret := &corev1.Secret{ObjectMeta: meta("token"), Data: map[string][]byte{"accessToken": []byte("canary"), "other": []byte("unused")}}
	configMap := &corev1.ConfigMap{ObjectMeta: meta("settings"), Data: map[string]string{"A": "1"}}
	reader := fake.NewClientBuilder().WithObjects(secret, configMap).Build()
	spec := &v1.StackSpec{AccessTokenSecret: "token", Envs: []string{"settings"}}
	resolve := func() (*Inputs, *Resolver, []dependents.Object) {
		t.Helper()
		var read []dependents.Object
		r := New(reader, "team", func(on dependents.Object) { read = append(read, on) }, nil)
		in, err := r.Resolve(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		return in, r, read
	}

	in, r, read := resolve()
	if in.Env["PULUMI_ACCESS_TOKEN"] != "canary" || in.Env["A"] != "1" || !slices.Equal(in.Secrets, []string{"canary"}) {
		t.Errorf("environment %v with secrets %v", in.Env, in.Secrets)
	}
	if want := []dependents.Object{dependents.On(dependents.ConfigMaps, "team", "settings"), dependents.On(dependents.Secrets, "team", "token")}; !slices.Equal(read, want) {
		t.Errorf("it depends on %v, want %v", read, want)
	}
	before := r.Digest()
	if _, same, _ := resolve(); same.Digest() != before {
		t.Error("the digest changes by itself")
	}

	// A change of a ConfigMap's metadata does not affect the Stack.
	configMap.Labels = map[string]string{"a": "b"}
	configMap.ResourceVersion = ""
	if err := reader.Update(t.Context(), configMap); err != nil {
		t.Fatal(err)
	}
	if _, same, _ := resolve(); same.Digest() != before {
		t.Error("the digest changes with a label of the ConfigMap")
	}
	secret.Data["accessToken"], secret.ResourceVersion = []byte("canary-2"), ""
	if err := reader.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	_, changed, _ := resolve()
	if changed.Digest() == before {
		t.Error("the digest stays as the Secret changes")
	}
	for object, version := range changed.versions {
		if strings.Contains(version, "canary") {
			t.Errorf("the version of %s holds the secret", object)
		}
	}
}
