package content_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/strata-platform/strata/internal/backup/content"
)

func secret(namespace, name string, set func(*corev1.Secret)) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{"a": []byte("b")}}
	if set != nil {
		set(s)
	}
	return s
}

func managed(by string) func(*corev1.Secret) {
	return func(s *corev1.Secret) { s.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: by}} }
}

// TestSecretsOfPeopleAreKept uses a fake cluster for the kinds of creators; test/e2e restores a Secret of a real one.
func TestSecretsOfPeopleAreKept(t *testing.T) {
	from := fake.NewClientset(
		secret("team-web", "kubectl", managed("kubectl-create")),
		secret("team-web", "registry", func(s *corev1.Secret) {
			s.Type = corev1.SecretTypeDockerConfigJson
			s.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "everything", "note": "kept"}
		}),
		secret("team-web", "restored", managed("kubectl-restore")),
		secret("team-web", "sql-auth", managed("pulumi-kubernetes-1a2b")),
		secret("team-web", "of-flux", managed("kustomize-controller")),
		secret("team-web", "labelled", func(s *corev1.Secret) { s.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": "web"} }),
		secret("team-web", "owned", func(s *corev1.Secret) { s.OwnerReferences = []metav1.OwnerReference{{Kind: "Certificate"}} }),
		secret("team-web", "token", func(s *corev1.Secret) { s.Type = corev1.SecretTypeServiceAccountToken }),
		secret("team-web", "sh.helm.release.v1.x.v1", func(s *corev1.Secret) { s.Type = "helm.sh/release.v1" }),
		secret("kube-system", "elsewhere", nil),
	)
	raw, count, err := content.Secrets(t.Context(), from, []string{"team-web", "team-none"})
	if err != nil || count != 3 || strings.Contains(string(raw), "everything") {
		t.Fatalf("%d Secrets, %v: %s", count, err, raw)
	}

	// Somebody may have added these to the list. The namespace of the last one is that of no team.
	var list []corev1.Secret
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	list = append(list, *secret("team-web", "stolen-token", func(s *corev1.Secret) { s.Type = corev1.SecretTypeServiceAccountToken }),
		*secret("team-web", "strata-context", nil), *secret("kube-system", "bootstrap-token", nil))
	if raw, err = json.Marshal(list); err != nil {
		t.Fatal(err)
	}
	to := fake.NewClientset(secret("team-web", "strata-context", func(s *corev1.Secret) { s.Data["a"] = []byte("of layer 2") }))
	for range 2 {
		if err := content.CreateSecrets(t.Context(), to, []string{"team-web"}, raw); err != nil {
			t.Fatal(err)
		}
	}
	found, err := to.CoreV1().Secrets("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range found.Items {
		names = append(names, s.Name+"="+string(s.Data["a"]))
		if s.Name == "registry" && (s.Type != corev1.SecretTypeDockerConfigJson || s.Annotations["note"] != "kept") {
			t.Errorf("%+v", s)
		}
	}
	slices.Sort(names)
	if want := []string{"kubectl=b", "registry=b", "restored=b", "strata-context=of layer 2"}; !slices.Equal(names, want) {
		t.Errorf("Secrets %q, want %q", names, want)
	}
	if err := content.CreateSecrets(t.Context(), to, nil, []byte("{")); err == nil {
		t.Error("a damaged list is accepted")
	}
}
