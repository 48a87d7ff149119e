package environment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
)

// reference is a pod's reference to a Secret or ConfigMap.
type reference struct {
	kind, name string
	keys       []string // the keys that the object must have
	optional   bool
}

// These are the kinds of references.
const (
	kindSecret    = "Secret"
	kindConfigMap = "ConfigMap"
)

// accountVolume begins the names of the volumes through which the API server gives a pod its service account.
const accountVolume = "kube-api-access-"

// volumeReferences returns the references of a pod's volumes.
func volumeReferences(volumes []corev1.Volume) []reference {
	var list []reference
	add := func(kind, name string, items []corev1.KeyToPath, optional *bool) {
		r := reference{kind: kind, name: name, optional: ptr.Deref(optional, false)}
		for _, item := range items {
			r.keys = append(r.keys, item.Key)
		}
		list = append(list, r)
	}
	for _, v := range volumes {
		if s := v.Secret; s != nil {
			add(kindSecret, s.SecretName, s.Items, s.Optional)
		}
		if m := v.ConfigMap; m != nil {
			add(kindConfigMap, m.Name, m.Items, m.Optional)
		}
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			if s := source.Secret; s != nil {
				add(kindSecret, s.Name, s.Items, s.Optional)
			}
			if m := source.ConfigMap; m != nil {
				add(kindConfigMap, m.Name, m.Items, m.Optional)
			}
		}
	}
	return list
}

// variableReferences returns the references of a container's variables.
func variableReferences(c *corev1.Container) []reference {
	var list []reference
	for _, from := range c.EnvFrom {
		if s := from.SecretRef; s != nil {
			list = append(list, reference{kindSecret, s.Name, nil, ptr.Deref(s.Optional, false)})
		}
		if m := from.ConfigMapRef; m != nil {
			list = append(list, reference{kindConfigMap, m.Name, nil, ptr.Deref(m.Optional, false)})
		}
	}
	for _, v := range c.Env {
		if v.ValueFrom == nil {
			continue
		}
		if s := v.ValueFrom.SecretKeyRef; s != nil {
			list = append(list, reference{kindSecret, s.Name, []string{s.Key}, ptr.Deref(s.Optional, false)})
		}
		if m := v.ValueFrom.ConfigMapKeyRef; m != nil {
			list = append(list, reference{kindConfigMap, m.Name, []string{m.Key}, ptr.Deref(m.Optional, false)})
		}
	}
	return list
}

// Watch calls changed after every change of the Secrets and ConfigMaps to which the pod refers, in the background until
// ctx is done. It may call changed concurrently. A node may watch single Secrets and ConfigMaps of its own pods, by
// name (Kubernetes, "Using Node Authorization").
func (r Resolver) Watch(ctx context.Context, containers []*corev1.Container, changed func()) {
	object := r.Pod()
	list := volumeReferences(object.Spec.Volumes)
	for _, s := range object.Spec.ImagePullSecrets {
		list = append(list, reference{kindSecret, s.Name, nil, true})
	}
	for _, c := range containers {
		list = append(list, variableReferences(c)...)
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed() },
		UpdateFunc: func(any, any) { changed() },
		DeleteFunc: func(any) { changed() },
	}
	client := r.Client.CoreV1().RESTClient()
	watched := map[string]bool{}
	for _, ref := range list {
		if watched[ref.kind+ref.name] {
			continue
		}
		watched[ref.kind+ref.name] = true
		resource, kind := "secrets", runtime.Object(&corev1.Secret{})
		if ref.kind == kindConfigMap {
			resource, kind = "configmaps", &corev1.ConfigMap{}
		}
		_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: cache.NewListWatchFromClient(client, resource, object.Namespace, fields.OneTermEqualSelector(metav1.ObjectNameField, ref.name)),
			ObjectType:    kind,
			Handler:       handler,
		})
		go informer.RunWithContext(ctx)
	}
}

// Missing returns an error if a Secret, a ConfigMap or a key to which the pod's volumes or the container's variables
// refer does not exist. It skips the volume of the service account, which the API server adds to every pod.
func (r Resolver) Missing(ctx context.Context, c *corev1.Container) error {
	volumes := slices.DeleteFunc(slices.Clone(r.Pod().Spec.Volumes), func(v corev1.Volume) bool { return strings.HasPrefix(v.Name, accountVolume) })
	for _, ref := range append(volumeReferences(volumes), variableReferences(c)...) {
		read := r.Secret
		if ref.kind == kindConfigMap {
			read = r.ConfigMap
		}
		data, err := read(ctx, ref.name, ref.optional)
		if err != nil {
			return err
		}
		for _, k := range ref.keys {
			if _, ok := data[k]; !ok && !ref.optional {
				return fmt.Errorf("%s %s has no key %s", ref.kind, ref.name, k)
			}
		}
	}
	return nil
}

// Secret returns the data of a Secret in the pod's namespace, or nil if it is optional and does not exist.
func (r Resolver) Secret(ctx context.Context, name string, optional bool) (map[string][]byte, error) {
	s, err := r.Client.CoreV1().Secrets(r.Pod().Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, ignoreMissing(err, optional)
	}
	return s.Data, nil
}

// ConfigMap returns the data and the binary data of a ConfigMap in the pod's namespace, or nil if it is optional and
// does not exist.
func (r Resolver) ConfigMap(ctx context.Context, name string, optional bool) (map[string][]byte, error) {
	m, err := r.Client.CoreV1().ConfigMaps(r.Pod().Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, ignoreMissing(err, optional)
	}
	data := maps.Clone(m.BinaryData)
	if data == nil {
		data = map[string][]byte{}
	}
	for k, v := range m.Data {
		data[k] = []byte(v)
	}
	return data, nil
}

// ignoreMissing returns nil for a NotFound error of an optional object, and err otherwise.
func ignoreMissing(err error, optional bool) error {
	if optional && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
