package node

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
	"k8s.io/client-go/tools/cache"
)

// reference is a pod's reference to a Secret or ConfigMap.
type reference struct {
	kind, name string
	keys       []string // the keys that it must have
	optional   bool
}

// These are the kinds of references.
const (
	kindSecret    = "Secret"
	kindConfigMap = "ConfigMap"
)

// accountVolume begins the names of the volumes through which the API server gives a pod its service account.
const accountVolume = "kube-api-access-"

// volumeReferences returns the references of volumes.
func volumeReferences(volumes []corev1.Volume) []reference {
	var list []reference
	add := func(kind, name string, items []corev1.KeyToPath, optional *bool) {
		r := reference{kind: kind, name: name, optional: isTrue(optional)}
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
			list = append(list, reference{kindSecret, s.Name, nil, isTrue(s.Optional)})
		}
		if m := from.ConfigMapRef; m != nil {
			list = append(list, reference{kindConfigMap, m.Name, nil, isTrue(m.Optional)})
		}
	}
	for _, v := range c.Env {
		if v.ValueFrom == nil {
			continue
		}
		if s := v.ValueFrom.SecretKeyRef; s != nil {
			list = append(list, reference{kindSecret, s.Name, []string{s.Key}, isTrue(s.Optional)})
		}
		if m := v.ValueFrom.ConfigMapKeyRef; m != nil {
			list = append(list, reference{kindConfigMap, m.Name, []string{m.Key}, isTrue(m.Optional)})
		}
	}
	return list
}

// watchReferences signals to the pod every change of its Secrets and ConfigMaps, until ctx is done. A node may watch
// single Secrets and ConfigMaps of its own pods, by name (Kubernetes, "Using Node Authorization").
func (p *pod) watchReferences(ctx context.Context) {
	list := volumeReferences(p.current().Spec.Volumes)
	for _, c := range p.all() {
		list = append(list, variableReferences(c.spec)...)
	}
	changed := func() {
		poke(p.stale)
		for _, c := range p.all() {
			poke(c.retry)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changed() },
		UpdateFunc: func(any, any) { changed() },
		DeleteFunc: func(any) { changed() },
	}
	client := p.node.client.CoreV1().RESTClient()
	watched := map[string]bool{}
	for _, r := range list {
		if watched[r.kind+r.name] {
			continue
		}
		watched[r.kind+r.name] = true
		resource, object := "secrets", runtimeObject(&corev1.Secret{})
		if r.kind == kindConfigMap {
			resource, object = "configmaps", &corev1.ConfigMap{}
		}
		_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
			ListerWatcher: cache.NewListWatchFromClient(client, resource, p.namespace, fields.OneTermEqualSelector(metav1.ObjectNameField, r.name)),
			ObjectType:    object,
			Handler:       handler,
		})
		go informer.RunWithContext(ctx)
	}
}

// missing returns an error if a Secret or ConfigMap does not exist. A simulated container waits for it, as it would on
// a real node. missing skips the service account's volume.
func (p *pod) missing(ctx context.Context, c *corev1.Container) error {
	volumes := slices.DeleteFunc(slices.Clone(p.current().Spec.Volumes), func(v corev1.Volume) bool { return strings.HasPrefix(v.Name, accountVolume) })
	for _, r := range append(volumeReferences(volumes), variableReferences(c)...) {
		read := p.secret
		if r.kind == kindConfigMap {
			read = p.configMap
		}
		data, err := read(ctx, r.name, r.optional)
		if err != nil {
			return err
		}
		for _, k := range r.keys {
			if _, ok := data[k]; !ok && !r.optional {
				return fmt.Errorf("%s %s has no key %s", r.kind, r.name, k)
			}
		}
	}
	return nil
}

func (p *pod) secret(ctx context.Context, name string, optional bool) (map[string][]byte, error) {
	s, err := p.node.client.CoreV1().Secrets(p.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, ignoreMissing(err, optional)
	}
	return s.Data, nil
}

func (p *pod) configMap(ctx context.Context, name string, optional bool) (map[string][]byte, error) {
	m, err := p.node.client.CoreV1().ConfigMaps(p.namespace).Get(ctx, name, metav1.GetOptions{})
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

func ignoreMissing(err error, optional bool) error {
	if optional && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
