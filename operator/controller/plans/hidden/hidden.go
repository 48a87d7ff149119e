// Package hidden reads the objects that a Stack refers to, without the values of Secrets.
package hidden

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Reader reads the objects that a Stack refers to: ConfigMaps of the commit before those of the cluster, and Secrets with a placeholder
// in place of each value. Whoever resolves references with it sees which keys a Secret has, and no value.
type Reader struct {
	From client.Reader

	// ConfigMaps are those of the commit by name.
	ConfigMaps map[string]*unstructured.Unstructured

	// Hide returns what the reader shows of a value of a Secret, such as [engine.Engine.Hide].
	Hide func(value string) string
}

// Get implements client.Reader.
func (h Reader) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	switch into := object.(type) {
	case *corev1.ConfigMap:
		if ours := h.ConfigMaps[key.Name]; ours != nil {
			return runtime.DefaultUnstructuredConverter.FromUnstructured(ours.Object, into)
		}
	case *corev1.Secret:
		actual := &corev1.Secret{}
		if err := h.From.Get(ctx, key, actual, opts...); err != nil {
			return err
		}
		into.ObjectMeta = actual.ObjectMeta
		into.Annotations = nil // kubectl repeats the values there.
		into.Data = map[string][]byte{}
		for name, value := range actual.Data {
			into.Data[name] = []byte(h.Hide(string(value)))
		}
		return nil
	}
	return h.From.Get(ctx, key, object, opts...)
}

// List implements client.Reader. No reference needs a list.
func (h Reader) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("list objects for a plan: not possible")
}
