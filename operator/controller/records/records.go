// Package records stores, in the operator's own namespace, the data for the destroy of each Stack.
package records

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/fields"
)

// recordKey is the key of a record in its Secret's data.
const recordKey = "record.json"

// Record holds the data for a destroy of a Stack's resources. Somebody may delete the Secrets that a Stack refers to
// together with the Stack or before it.
type Record struct {
	// Namespace and Name identify the Stack.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`

	Project         string            `json:"project"`
	Stack           string            `json:"stack"`
	Backend         string            `json:"backend,omitempty"`
	SecretsProvider string            `json:"secretsProvider,omitempty"`
	Env             map[string]string `json:"env,omitempty"`

	// Secrets lists the secret values in Env.
	Secrets []string `json:"secrets,omitempty"`
}

// Records stores a [Record] for each Stack with destroyOnFinalize. A record is a Secret
// in the operator's own namespace, which nobody else may read.
type Records struct {
	client client.Client

	// reader bypasses the cache, which would hold every Secret of the cluster.
	reader client.Reader

	// namespace is the operator's own. If namespace is empty, Records stores nothing.
	namespace string

	mu   sync.Mutex
	kept map[types.NamespacedName]keptRecord
}

// New returns the records in a namespace. If namespace is empty, Records stores nothing and finds nothing. reader bypasses the
// cache, which would hold every Secret of the cluster.
func New(client client.Client, reader client.Reader, namespace string) *Records {
	return &Records{client: client, reader: reader, namespace: namespace, kept: map[types.NamespacedName]keptRecord{}}
}

// Namespace returns the namespace of the records, or an empty string.
func (r *Records) Namespace() string { return r.namespace }

// keptRecord identifies the record that this process has written for a Stack.
type keptRecord struct {
	uid    types.UID
	digest [sha256.Size]byte
}

// labelPrefix is the prefix of the labels that a Stack sets on its record. With free
// label keys, a team could match selectors in the operator's namespace.
const labelPrefix = "workspace.strata.dev/"

// secret returns the Secret of a Stack's record. The record takes the labels of the
// upstream workspace that it replaces; each label keeps the part of its key after the
// '/'.
func (r *Records) secret(stack *v1.Stack) *corev1.Secret {
	labels := map[string]string{}
	given := fields.Labels(&stack.Spec)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		labels[labelPrefix+path.Base(key)] = given[key]
	}
	labels["app.kubernetes.io/managed-by"] = "pulumi-operator"
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.namespace, Name: "stack-" + string(stack.UID), Labels: labels,
		Annotations: map[string]string{"pulumi.com/stack": stack.Namespace + "/" + stack.Name},
	}}
}

// Keep writes the record of a Stack if it has changed.
func (r *Records) Keep(ctx context.Context, stack *v1.Stack, rec Record) error {
	if r.namespace == "" {
		return nil
	}
	content, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encode the record for the destroy of Stack %s/%s: %w", stack.Namespace, stack.Name, err)
	}
	secret := r.secret(stack)
	secret.Data = map[string][]byte{recordKey: content}
	body, err := json.Marshal(map[string]any{"data": secret.Data, "metadata": map[string]any{"labels": secret.Labels}})
	if err != nil {
		return fmt.Errorf("encode the record for the destroy of Stack %s/%s: %w", stack.Namespace, stack.Name, err)
	}
	key, kept := client.ObjectKeyFromObject(stack), keptRecord{stack.UID, sha256.Sum256(body)}
	r.mu.Lock()
	former := r.kept[key]
	r.mu.Unlock()
	if former == kept {
		return nil
	}
	if former.uid != kept.uid {
		// The operator did not see the deletion of an earlier Stack with the same name.
		if err := r.Forget(ctx, key); err != nil {
			return err
		}
	}
	if err = r.client.Create(ctx, secret); apierrors.IsAlreadyExists(err) {
		err = r.client.Patch(ctx, r.secret(stack), client.RawPatch(types.MergePatchType, body))
	}
	if err != nil {
		return fmt.Errorf("write the record for the destroy of the Stack to namespace %s: %w", r.namespace, err)
	}
	r.mu.Lock()
	r.kept[key] = kept
	r.mu.Unlock()
	return nil
}

// Read returns the record of a Stack, or nil if there is none.
func (r *Records) Read(ctx context.Context, stack *v1.Stack) (*Record, error) {
	if r.namespace == "" {
		return nil, nil
	}
	secret := r.secret(stack)
	if err := r.reader.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read the record for the destroy of the Stack from namespace %s: %w", r.namespace, err)
	}
	rec := &Record{}
	if err := json.Unmarshal(secret.Data[recordKey], rec); err != nil {
		return nil, fmt.Errorf("decode Secret %s: %w", client.ObjectKeyFromObject(secret), err)
	}
	return rec, nil
}

// Drop deletes the record of a Stack whose finalizer the operator is about to remove.
func (r *Records) Drop(ctx context.Context, stack *v1.Stack) error {
	if r.namespace == "" {
		return nil
	}
	if err := r.client.Delete(ctx, r.secret(stack)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the record for the destroy of the Stack from namespace %s: %w", r.namespace, err)
	}
	r.mu.Lock()
	delete(r.kept, client.ObjectKeyFromObject(stack))
	r.mu.Unlock()
	return nil
}

// Forget drops the record of a deleted Stack whose finalizer somebody else removed.
func (r *Records) Forget(ctx context.Context, key types.NamespacedName) error {
	r.mu.Lock()
	kept, found := r.kept[key]
	r.mu.Unlock()
	if !found {
		return nil
	}
	stack := &v1.Stack{}
	stack.Namespace, stack.Name, stack.UID = key.Namespace, key.Name, kept.uid
	return r.Drop(ctx, stack)
}
