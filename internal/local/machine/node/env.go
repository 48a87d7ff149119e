package node

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubectl/pkg/util/resource"
)

// environment resolves the variables of a container as the kubelet does: envFrom in order, then env in order. Later
// variables override earlier ones. A $(NAME) expands from earlier variables.
func (p *pod) environment(ctx context.Context, c *corev1.Container) (map[string]string, error) {
	env := map[string]string{}
	for _, from := range c.EnvFrom {
		values, err := p.envFrom(ctx, from)
		if err != nil {
			return nil, err
		}
		for k, v := range values {
			env[from.Prefix+k] = v
		}
	}
	for _, v := range c.Env {
		value, set, err := p.envValue(ctx, c, v, env)
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", v.Name, err)
		}
		if set {
			env[v.Name] = value
		}
	}
	return env, nil
}

func (p *pod) envFrom(ctx context.Context, from corev1.EnvFromSource) (map[string]string, error) {
	switch {
	case from.SecretRef != nil:
		data, err := p.secret(ctx, from.SecretRef.Name, isTrue(from.SecretRef.Optional))
		return stringValues(data), err
	case from.ConfigMapRef != nil:
		data, err := p.configMap(ctx, from.ConfigMapRef.Name, isTrue(from.ConfigMapRef.Optional))
		return stringValues(data), err
	}
	return nil, nil
}

// envValue returns the value of one variable. set is false if an optional reference has no target.
func (p *pod) envValue(ctx context.Context, c *corev1.Container, v corev1.EnvVar, env map[string]string) (value string, set bool, err error) {
	from := v.ValueFrom
	switch {
	case from == nil:
		return expand(v.Value, env), true, nil
	case from.FieldRef != nil:
		value, err = p.field(from.FieldRef.FieldPath)
		return value, true, err
	case from.ResourceFieldRef != nil:
		value, err = p.resource(from.ResourceFieldRef, c)
		return value, true, err
	case from.SecretKeyRef != nil:
		ref := from.SecretKeyRef
		data, err := p.secret(ctx, ref.Name, isTrue(ref.Optional))
		return key(data, "Secret "+ref.Name, ref.Key, isTrue(ref.Optional), err)
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		data, err := p.configMap(ctx, ref.Name, isTrue(ref.Optional))
		return key(data, "ConfigMap "+ref.Name, ref.Key, isTrue(ref.Optional), err)
	}
	return "", false, fmt.Errorf("its source is not supported on this node")
}

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

// field returns the value of a field of the downward API.
func (p *pod) field(path string) (string, error) {
	o := p.current()
	switch path {
	case "metadata.name":
		return o.Name, nil
	case "metadata.namespace":
		return o.Namespace, nil
	case "metadata.uid":
		return string(o.UID), nil
	case "metadata.labels":
		return keyValues(o.Labels), nil
	case "metadata.annotations":
		return keyValues(o.Annotations), nil
	case "spec.nodeName":
		return o.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return o.Spec.ServiceAccountName, nil
	case "status.podIP", "status.podIPs", "status.hostIP", "status.hostIPs":
		return loopback, nil
	}
	for prefix, values := range map[string]map[string]string{"metadata.labels['": o.Labels, "metadata.annotations['": o.Annotations} {
		if name, ok := strings.CutPrefix(path, prefix); ok {
			return values[strings.TrimSuffix(name, "']")], nil
		}
	}
	return "", fmt.Errorf("field %s is not supported on this node", path)
}

// resource returns a limit or request of a container of this pod.
func (p *pod) resource(ref *corev1.ResourceFieldSelector, own *corev1.Container) (string, error) {
	c := own
	if ref.ContainerName != "" {
		if c = containerNamed(p.current(), ref.ContainerName); c == nil {
			return "", fmt.Errorf("the pod has no container %s", ref.ContainerName)
		}
	}
	return resource.ExtractContainerResourceValue(ref, bounded(c))
}

// bounded returns a copy of the container with its effective limits. A resource without a limit has the node's
// capacity as its limit.
func bounded(c *corev1.Container) *corev1.Container {
	c = c.DeepCopy()
	limits := capacity()
	maps.Copy(limits, c.Resources.Limits)
	c.Resources.Limits = limits
	return c
}

func keyValues(m map[string]string) string {
	lines := make([]string, 0, len(m))
	for _, k := range sortedKeys(m) {
		lines = append(lines, fmt.Sprintf("%s=%q", k, m[k]))
	}
	return strings.Join(lines, "\n")
}

// expand replaces $(NAME) by the variable's value. $$ stands for $. An unknown name stays as it is (Kubernetes API
// reference, Container.args).
func expand(s string, env map[string]string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '$' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		switch s[i+1] {
		case '$':
			b.WriteByte('$')
			i++
		case '(':
			end := strings.IndexByte(s[i:], ')')
			if end < 0 {
				b.WriteByte('$')
				continue
			}
			name := s[i+2 : i+end]
			if value, ok := env[name]; ok {
				b.WriteString(value)
			} else {
				b.WriteString(s[i : i+end+1])
			}
			i += end
		default:
			b.WriteByte('$')
		}
	}
	return b.String()
}
