// Package environment resolves the references in a pod's spec: the variables of its containers, its Secrets and
// ConfigMaps, and the fields of the downward API.
package environment

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// Resolver resolves the references of one pod. All fields are required.
type Resolver struct {
	// Client has the rights of the pod's node.
	Client kubernetes.Interface
	// Pod returns the pod's latest object. Callers do not modify the object.
	Pod func() *corev1.Pod
	// Services lists the Services of all namespaces.
	Services func() ([]*corev1.Service, error)
	// IP returns the address at which the pod's containers can listen.
	IP func() string
	// HostIP returns the address at which the pod's containers reach the node.
	HostIP func() string
}

// Variables resolves the variables of a container as the kubelet does: envFrom in order, then env in order. Later
// variables override earlier ones. A $(NAME) expands from earlier variables.
func (r Resolver) Variables(ctx context.Context, c *corev1.Container) (map[string]string, error) {
	return r.variables(ctx, c, nil)
}

// variables is Variables for a container with other variables, to which its own may refer.
func (r Resolver) variables(ctx context.Context, c *corev1.Container, others map[string]string) (map[string]string, error) {
	env, known := map[string]string{}, maps.Clone(others)
	if known == nil {
		known = map[string]string{}
	}
	for _, from := range c.EnvFrom {
		values, err := r.envFrom(ctx, from)
		if err != nil {
			return nil, err
		}
		for k, v := range values {
			env[from.Prefix+k], known[from.Prefix+k] = v, v
		}
	}
	for _, v := range c.Env {
		value, set, err := r.value(ctx, c, v, known)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", v.Name, err)
		}
		if set {
			env[v.Name], known[v.Name] = value, value
		}
	}
	return env, nil
}

// envFrom returns the variables of one source: all keys of its Secret or ConfigMap, without the prefix.
func (r Resolver) envFrom(ctx context.Context, from corev1.EnvFromSource) (map[string]string, error) {
	var data map[string][]byte
	var err error
	switch {
	case from.SecretRef != nil:
		data, err = r.Secret(ctx, from.SecretRef.Name, ptr.Deref(from.SecretRef.Optional, false))
	case from.ConfigMapRef != nil:
		data, err = r.ConfigMap(ctx, from.ConfigMapRef.Name, ptr.Deref(from.ConfigMapRef.Optional, false))
	}
	values := make(map[string]string, len(data))
	for k, v := range data {
		values[k] = string(v)
	}
	return values, err
}

// value returns the value of one variable. set is false if an optional reference has no target.
func (r Resolver) value(ctx context.Context, c *corev1.Container, v corev1.EnvVar, env map[string]string) (value string, set bool, err error) {
	from := v.ValueFrom
	switch {
	case from == nil:
		return Expand(v.Value, env), true, nil
	case from.FieldRef != nil:
		value, err = r.Field(from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = r.Resource(from.ResourceFieldRef, c)
		return value, true, err
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		optional := ptr.Deref(ref.Optional, false)
		data, err := r.Secret(ctx, ref.Name, optional)
		return key(data, "Secret "+ref.Name, ref.Key, optional, err)
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		optional := ptr.Deref(ref.Optional, false)
		data, err := r.ConfigMap(ctx, ref.Name, optional)
		return key(data, "ConfigMap "+ref.Name, ref.Key, optional, err)
	}
	return "", false, fmt.Errorf("this node does not support the variable's source")
}

// key returns the value of a key of object, and whether data contains the key.
func key(data map[string][]byte, object, name string, optional bool, err error) (string, bool, error) {
	if err != nil {
		return "", false, err
	}
	value, ok := data[name]
	if !ok && !optional {
		return "", false, fmt.Errorf("%s has no key %s", object, name)
	}
	return string(value), ok, nil
}
