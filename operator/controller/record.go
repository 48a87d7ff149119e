package controller

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
)

// recordKey is the key of a record in its Secret.
const recordKey = "record.json"

// record is what destroying a Stack's resources takes. The Secrets that a Stack
// refers to may be deleted together with it, or before it.
type record struct {
	// Namespace and Name are the Stack's.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`

	Project         string            `json:"project"`
	Stack           string            `json:"stack"`
	Backend         string            `json:"backend,omitempty"`
	SecretsProvider string            `json:"secretsProvider,omitempty"`
	Env             map[string]string `json:"env,omitempty"`

	// Secrets lists the values in Env that are secret.
	Secrets []string `json:"secrets,omitempty"`
}

// records keeps a record for each Stack that is to be destroyed when it is
// deleted: a Secret in the operator's own namespace, where nobody else reads.
type records struct {
	client client.Client

	// reader reads past the cache, which would hold every Secret of the cluster.
	reader client.Reader

	// namespace is the operator's own; nothing is kept when it is empty.
	namespace string

	mu   sync.Mutex
	kept map[types.NamespacedName]keptRecord
}

// keptRecord is what this process has written for a Stack.
type keptRecord struct {
	uid    types.UID
	digest [sha256.Size]byte
}

// labelPrefix begins the keys of the labels that a Stack gives its record. Under
// other keys a team would choose what selectors in the operator's namespace match.
const labelPrefix = "workspace.strata.dev/"

// secret is the object that a record is in, with the labels of the workspace that
// it is in place of, each by what follows the '/' of its key.
func (r *records) secret(stack *v1.Stack) *corev1.Secret {
	labels := map[string]string{}
	given := workspaceLabels(&stack.Spec)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		labels[labelPrefix+path.Base(key)] = given[key]
	}
	labels["app.kubernetes.io/managed-by"] = "pulumi-operator"
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.namespace, Name: "stack-" + string(stack.UID), Labels: labels,
		Annotations: map[string]string{"pulumi.com/stack": stack.Namespace + "/" + stack.Name},
	}}
}

// keep writes the record of a Stack if it has changed.
func (r *records) keep(ctx context.Context, stack *v1.Stack, rec record) error {
	if r.namespace == "" {
		return nil
	}
	content, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encode what destroying Stack %s/%s takes: %w", stack.Namespace, stack.Name, err)
	}
	secret := r.secret(stack)
	secret.Data = map[string][]byte{recordKey: content}
	body, err := json.Marshal(map[string]any{"data": secret.Data, "metadata": map[string]any{"labels": secret.Labels}})
	if err != nil {
		return fmt.Errorf("encode what destroying Stack %s/%s takes: %w", stack.Namespace, stack.Name, err)
	}
	key, kept := client.ObjectKeyFromObject(stack), keptRecord{stack.UID, sha256.Sum256(body)}
	r.mu.Lock()
	former := r.kept[key]
	r.mu.Unlock()
	if former == kept {
		return nil
	}
	if former.uid != kept.uid {
		// A Stack of the same name was there before, and nobody saw it go.
		if err := r.forget(ctx, key); err != nil {
			return err
		}
	}
	if err = r.client.Create(ctx, secret); apierrors.IsAlreadyExists(err) {
		err = r.client.Patch(ctx, r.secret(stack), client.RawPatch(types.MergePatchType, body))
	}
	if err != nil {
		return fmt.Errorf("note what destroying the Stack takes in namespace %s: %w", r.namespace, err)
	}
	r.mu.Lock()
	r.kept[key] = kept
	r.mu.Unlock()
	return nil
}

// read returns the record of a Stack, nil if there is none.
func (r *records) read(ctx context.Context, stack *v1.Stack) (*record, error) {
	if r.namespace == "" {
		return nil, nil
	}
	secret := r.secret(stack)
	if err := r.reader.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("read what destroying the Stack takes in namespace %s: %w", r.namespace, err)
	}
	rec := &record{}
	if err := json.Unmarshal(secret.Data[recordKey], rec); err != nil {
		return nil, fmt.Errorf("decode Secret %s: %w", client.ObjectKeyFromObject(secret), err)
	}
	return rec, nil
}

// drop forgets a Stack whose resources are dealt with.
func (r *records) drop(ctx context.Context, stack *v1.Stack) error {
	if r.namespace == "" {
		return nil
	}
	if err := r.client.Delete(ctx, r.secret(stack)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("forget what destroying the Stack takes in namespace %s: %w", r.namespace, err)
	}
	r.mu.Lock()
	delete(r.kept, client.ObjectKeyFromObject(stack))
	r.mu.Unlock()
	return nil
}

// forget drops the record of a Stack that is gone although nobody let it go here:
// somebody took its finalizer off.
func (r *records) forget(ctx context.Context, key types.NamespacedName) error {
	r.mu.Lock()
	kept, found := r.kept[key]
	r.mu.Unlock()
	if !found {
		return nil
	}
	stack := &v1.Stack{}
	stack.Namespace, stack.Name, stack.UID = key.Namespace, key.Name, kept.uid
	return r.drop(ctx, stack)
}
