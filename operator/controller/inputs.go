package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// inputs is what a Stack asks for besides its program, with all references
// followed.
type inputs struct {
	env          map[string]string
	config       map[string]json.RawMessage
	secretConfig map[string]string
	secrets      []string
}

// resolver follows the references of one Stack, in its namespace only. It reads
// from the API server: a cache would hold every Secret of every team.
type resolver struct {
	reader     client.Reader
	namespace  string
	secrets    map[string]*corev1.Secret
	configMaps map[string]*corev1.ConfigMap
}

func resolve(ctx context.Context, reader client.Reader, stack *v1.Stack) (*inputs, error) {
	r := &resolver{
		reader: reader, namespace: stack.Namespace,
		secrets: map[string]*corev1.Secret{}, configMaps: map[string]*corev1.ConfigMap{},
	}
	in := &inputs{env: map[string]string{}, config: map[string]json.RawMessage{}, secretConfig: map[string]string{}}
	for _, step := range []func(context.Context, *v1.StackSpec, *inputs) error{r.wholeEnv, r.env, r.config, r.secretConfig} {
		if err := step(ctx, &stack.Spec, in); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// wholeEnv reads the deprecated ways to set environment variables.
func (r *resolver) wholeEnv(ctx context.Context, spec *v1.StackSpec, in *inputs) error {
	for _, name := range spec.Envs {
		configMap, err := r.configMap(ctx, "spec.envs", name)
		if err != nil {
			return err
		}
		maps.Copy(in.env, configMap.Data)
	}
	for _, name := range spec.SecretEnvs {
		secret, err := r.secret(ctx, "spec.envSecrets", name)
		if err != nil {
			return err
		}
		for key, value := range secret.Data {
			in.env[key] = string(value)
			in.secrets = append(in.secrets, string(value))
		}
	}
	if spec.AccessTokenSecret != "" {
		token, err := r.secretKey(ctx, "spec.accessTokenSecret", &v1.SecretSelector{Name: spec.AccessTokenSecret, Key: "accessToken"})
		if err != nil {
			return err
		}
		in.env["PULUMI_ACCESS_TOKEN"] = token
		in.secrets = append(in.secrets, token)
	}
	return nil
}

func (r *resolver) env(ctx context.Context, spec *v1.StackSpec, in *inputs) error {
	for _, name := range slices.Sorted(maps.Keys(spec.EnvRefs)) {
		ref := spec.EnvRefs[name]
		value, err := r.value(ctx, "spec.envRefs."+name, ref)
		if err != nil {
			return err
		}
		in.env[name] = value
		if ref.Type == v1.ResourceSelectorSecret {
			in.secrets = append(in.secrets, value)
		}
	}
	return nil
}

func (r *resolver) config(ctx context.Context, spec *v1.StackSpec, in *inputs) error {
	for key, value := range spec.Config {
		in.config[key] = value.Raw
	}
	for _, key := range slices.Sorted(maps.Keys(spec.ConfigRef)) {
		ref, path := spec.ConfigRef[key], "spec.configRef."+key
		configMap, err := r.configMap(ctx, path, ref.Name)
		if err != nil {
			return err
		}
		value, ok := configMap.Data[ref.Key]
		if !ok {
			return fmt.Errorf("%s: ConfigMap %s/%s has no key %q", path, r.namespace, ref.Name, ref.Key)
		}
		raw := json.RawMessage(value)
		if ref.JSON == nil || !*ref.JSON {
			if raw, err = json.Marshal(value); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
		} else if !json.Valid(raw) {
			return fmt.Errorf("%s: key %q of ConfigMap %s/%s is not valid JSON", path, ref.Key, r.namespace, ref.Name)
		}
		in.config[key] = raw
	}
	return nil
}

func (r *resolver) secretConfig(ctx context.Context, spec *v1.StackSpec, in *inputs) error {
	maps.Copy(in.secretConfig, spec.Secrets)
	for _, key := range slices.Sorted(maps.Keys(spec.SecretRefs)) {
		value, err := r.value(ctx, "spec.secretsRef."+key, spec.SecretRefs[key])
		if err != nil {
			return err
		}
		in.secretConfig[key] = value
	}
	return nil
}

// value follows one reference. Those that would read the operator's own
// environment, files or another namespace are refused.
func (r *resolver) value(ctx context.Context, path string, ref v1.ResourceRef) (string, error) {
	switch {
	case ref.Type == v1.ResourceSelectorLiteral && ref.Literal != nil:
		return ref.Literal.Value, nil
	case ref.Type == v1.ResourceSelectorSecret && ref.Secret != nil:
		if ref.Secret.Namespace != "" && ref.Secret.Namespace != r.namespace {
			return "", invalid("%s: Secret %s/%s is in another namespace: only those of the Stack's own are read", path, ref.Secret.Namespace, ref.Secret.Name)
		}
		return r.secretKey(ctx, path, ref.Secret)
	case ref.Type == v1.ResourceSelectorLiteral, ref.Type == v1.ResourceSelectorSecret:
		return "", invalid("%s: type %s needs the field of that name", path, ref.Type)
	case ref.Type == v1.ResourceSelectorEnv, ref.Type == v1.ResourceSelectorFS:
		return "", invalid("%s: type %s would read the operator's own environment or files and is refused: use Secret or Literal", path, ref.Type)
	}
	return "", invalid("%s: type %q is unknown: use Secret or Literal", path, ref.Type)
}

func (r *resolver) secretKey(ctx context.Context, path string, ref *v1.SecretSelector) (string, error) {
	secret, err := r.secret(ctx, path, ref.Name)
	if err != nil {
		return "", err
	}
	value, ok := secret.Data[ref.Key]
	if !ok {
		return "", fmt.Errorf("%s: Secret %s/%s has no key %q", path, r.namespace, ref.Name, ref.Key)
	}
	return string(value), nil
}

func (r *resolver) secret(ctx context.Context, path, name string) (*corev1.Secret, error) {
	return lookUp(ctx, r, path, name, r.secrets, &corev1.Secret{})
}

func (r *resolver) configMap(ctx context.Context, path, name string) (*corev1.ConfigMap, error) {
	return lookUp(ctx, r, path, name, r.configMaps, &corev1.ConfigMap{})
}

func lookUp[T client.Object](ctx context.Context, r *resolver, path, name string, known map[string]T, object T) (T, error) {
	if found, ok := known[name]; ok {
		return found, nil
	}
	if err := r.reader.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, object); err != nil {
		var none T
		return none, fmt.Errorf("%s: %w", path, err)
	}
	known[name] = object
	return object, nil
}
