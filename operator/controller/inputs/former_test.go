package inputs

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/strata-platform/strata/handoff/keys"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/dependents"
)

func TestOnlyTheContextOfThePlatformHasAFormerPassphrase(t *testing.T) {
	data := map[string][]byte{keys.Passphrase: []byte("current"), keys.FormerPassphrase: []byte("former")}
	of := func(name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name}, Data: data}
	}
	reader := fake.NewClientBuilder().WithObjects(of(keys.TenantName), of("own")).Build()
	secret := func(name string) *v1.SecretSelector { return &v1.SecretSelector{Name: name, Key: keys.Passphrase} }
	for name, c := range map[string]struct {
		ref  v1.ResourceRef
		want string
	}{
		"the context":               {v1.ResourceRef{Type: v1.ResourceSelectorSecret, Secret: secret(keys.TenantName)}, "former"},
		"a Secret of the team":      {v1.ResourceRef{Type: v1.ResourceSelectorSecret, Secret: secret("own")}, ""},
		"a literal with the Secret": {v1.ResourceRef{Type: v1.ResourceSelectorLiteral, Secret: secret(keys.TenantName), Literal: &v1.LiteralRef{Value: "x"}}, ""},
	} {
		r := New(reader, "team", func(dependents.Object) {}, nil)
		in, err := r.Resolve(t.Context(), &v1.StackSpec{EnvRefs: map[string]v1.ResourceRef{keys.Passphrase: c.ref}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if in.Env[keys.FormerPassphrase] != c.want {
			t.Errorf("%s: the former passphrase is %q, want %q", name, in.Env[keys.FormerPassphrase], c.want)
		}
	}
}
