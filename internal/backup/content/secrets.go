package content

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// SecretsFile is the name of the file in a home's credentials with the Secrets that the next up creates.
const SecretsFile = "restored-secrets.json"

// secretsPage is how many Secrets one call of the API server returns.
const secretsPage = 200

// Secrets returns the Secrets in namespaces that people have created: no commit, no Stack and no layer creates them again. raw is
// nil if there are none.
func Secrets(ctx context.Context, cluster kubernetes.Interface, namespaces []string) (raw []byte, count int, err error) {
	var found []corev1.Secret
	for _, namespace := range namespaces {
		options := metav1.ListOptions{Limit: secretsPage}
		for {
			page, err := cluster.CoreV1().Secrets(namespace).List(ctx, options)
			if err != nil {
				return nil, 0, fmt.Errorf("list the Secrets of namespace %s: %w", namespace, err)
			}
			for i := range page.Items {
				if byPeople(&page.Items[i]) {
					found = append(found, plainSecret(&page.Items[i]))
				}
			}
			if options.Continue = page.Continue; options.Continue == "" {
				break
			}
		}
	}
	if len(found) == 0 {
		return nil, 0, nil
	}
	raw, err = json.Marshal(found)
	return raw, len(found), err
}

// byPeople reports whether no program has created a Secret, or changes it.
func byPeople(secret *corev1.Secret) bool {
	if len(secret.OwnerReferences) > 0 || secret.Type == corev1.SecretTypeServiceAccountToken || strings.HasPrefix(string(secret.Type), "helm.sh/") {
		return false
	}
	for label := range secret.Labels {
		if strings.Contains(label, "toolkit.fluxcd.io/") {
			return false
		}
	}
	return !slices.ContainsFunc(secret.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		return strings.HasPrefix(entry.Manager, "pulumi") || strings.HasPrefix(entry.Manager, "strata") || strings.HasSuffix(entry.Manager, "-controller")
	})
}

// lastApplied is the annotation of `kubectl apply` with a copy of the whole object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// plainSecret returns the fields of a Secret that its creator has set.
func plainSecret(from *corev1.Secret) corev1.Secret {
	annotations := make(map[string]string, len(from.Annotations))
	for name, value := range from.Annotations {
		if name != lastApplied {
			annotations[name] = value
		}
	}
	return corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: from.Namespace, Name: from.Name, Labels: from.Labels, Annotations: annotations},
		Type:       from.Type, Data: from.Data, Immutable: from.Immutable,
	}
}

// CreateSecrets creates the Secrets of raw in the cluster, but only those that Secrets returns for the same namespaces. It keeps
// existing ones, so an interrupted call can run again.
func CreateSecrets(ctx context.Context, cluster kubernetes.Interface, namespaces []string, raw []byte) error {
	var all []corev1.Secret
	if err := json.Unmarshal(raw, &all); err != nil {
		return fmt.Errorf("create the Secrets of the backup: its list is damaged: %w", err)
	}
	for i := range all {
		secret := plainSecret(&all[i])
		if !slices.Contains(namespaces, secret.Namespace) || !byPeople(&all[i]) {
			continue
		}
		_, err := cluster.CoreV1().Secrets(secret.Namespace).Create(ctx, &secret, metav1.CreateOptions{FieldManager: "kubectl-restore"})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create the Secret %s/%s of the backup: %w", secret.Namespace, secret.Name, err)
		}
	}
	return nil
}
