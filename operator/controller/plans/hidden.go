package plans

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/operator/engine"
)

// hidden reads the objects that a Stack refers to: ConfigMaps of the commit before those of the cluster, and Secrets with a placeholder
// in place of each value. Whoever resolves references with it sees which keys a Secret has, and no value.
type hidden struct {
	from       client.Reader
	configMaps map[string]*unstructured.Unstructured
}

// Get implements client.Reader.
func (h hidden) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	switch into := object.(type) {
	case *corev1.ConfigMap:
		if ours := h.configMaps[key.Name]; ours != nil {
			return decode(ours, into)
		}
	case *corev1.Secret:
		actual := &corev1.Secret{}
		if err := h.from.Get(ctx, key, actual, opts...); err != nil {
			return err
		}
		into.ObjectMeta = actual.ObjectMeta
		into.Annotations = nil // kubectl repeats the values there.
		into.Data = map[string][]byte{}
		for name, value := range actual.Data {
			into.Data[name] = []byte(engine.Hide(string(value)))
		}
		return nil
	}
	return h.from.Get(ctx, key, object, opts...)
}

// List implements client.Reader. No reference needs a list.
func (h hidden) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("list objects for a plan: not possible")
}
