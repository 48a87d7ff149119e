package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

const templatePath = "spec.workspaceTemplate.spec."

// env sets the environment in the order of a pod's, in which later entries win: first
// the variables from whole objects, then single variables. The workspace template comes
// last, because it overrides the rest.
func (r *resolver) env(ctx context.Context, spec *v1.StackSpec, in *inputs) error {
	for _, step := range []func(context.Context, *v1.StackSpec, map[string]string) error{
		r.wholeEnv, r.templateEnvFrom, r.singleEnv, r.templateEnv,
	} {
		if err := step(ctx, spec, in.env); err != nil {
			return err
		}
	}
	return nil
}

// wholeEnv reads the deprecated fields for environment variables.
func (r *resolver) wholeEnv(ctx context.Context, spec *v1.StackSpec, env map[string]string) error {
	for _, name := range spec.Envs {
		configMap, err := r.configMap(ctx, "spec.envs", name)
		if err != nil {
			return err
		}
		if err := copyAll(env, "spec.envs", "", configMap.Data); err != nil {
			return err
		}
	}
	for _, name := range spec.SecretEnvs {
		secret, err := r.secret(ctx, "spec.envSecrets", name)
		if err != nil {
			return err
		}
		if err := r.copySecret(env, "spec.envSecrets", "", secret); err != nil {
			return err
		}
	}
	return nil
}

// copyAll sets a variable for each key of an object. path is the field that names the
// object.
func copyAll(env map[string]string, path, prefix string, data map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if err := checkVariable(path, prefix+key); err != nil {
			return err
		}
		env[prefix+key] = data[key]
	}
	return nil
}

func (r *resolver) copySecret(env map[string]string, path, prefix string, secret *corev1.Secret) error {
	data := map[string]string{}
	for key, value := range secret.Data {
		data[key] = string(value)
		r.used = append(r.used, string(value))
	}
	return copyAll(env, path, prefix, data)
}

func (r *resolver) templateEnvFrom(ctx context.Context, spec *v1.StackSpec, env map[string]string) error {
	for i, from := range templateOf(spec).EnvFrom {
		path := fmt.Sprintf("%senvFrom[%d]", templatePath, i)
		var err error
		var optional *bool
		switch {
		case from.ConfigMapRef != nil:
			var configMap *corev1.ConfigMap
			optional = from.ConfigMapRef.Optional
			if configMap, err = r.configMap(ctx, path, from.ConfigMapRef.Name); err == nil {
				err = copyAll(env, path, from.Prefix, configMap.Data)
			}
		case from.SecretRef != nil:
			var secret *corev1.Secret
			optional = from.SecretRef.Optional
			if secret, err = r.secret(ctx, path, from.SecretRef.Name); err == nil {
				err = r.copySecret(env, path, from.Prefix, secret)
			}
		default:
			return invalid("%s: set configMapRef or secretRef", path)
		}
		if err = unlessOptional(err, optional); err != nil {
			return err
		}
	}
	return nil
}

// unlessOptional returns nil if err says that an optional object is missing, and err
// otherwise.
func unlessOptional(err error, optional *bool) error {
	if absent := (*missing)(nil); errors.As(err, &absent) && optional != nil && *optional {
		return nil
	}
	return err
}

func (r *resolver) singleEnv(ctx context.Context, spec *v1.StackSpec, env map[string]string) error {
	if spec.AccessTokenSecret != "" {
		token, err := r.secretKey(ctx, "spec.accessTokenSecret", spec.AccessTokenSecret, "accessToken")
		if err != nil {
			return err
		}
		env["PULUMI_ACCESS_TOKEN"] = token
	}
	for _, name := range slices.Sorted(maps.Keys(spec.EnvRefs)) {
		value, err := r.value(ctx, "spec.envRefs."+name, spec.EnvRefs[name])
		if err != nil {
			return err
		}
		env[name] = value
	}
	return nil
}

func (r *resolver) templateEnv(ctx context.Context, spec *v1.StackSpec, env map[string]string) error {
	for _, variable := range templateOf(spec).Env {
		path := templatePath + "env." + variable.Name
		from := variable.ValueFrom
		if from == nil {
			env[variable.Name] = expand(variable.Value, env)
			continue
		}
		var value string
		var err error
		var optional *bool
		switch {
		case from.SecretKeyRef != nil:
			optional = from.SecretKeyRef.Optional
			value, err = r.secretKey(ctx, path, from.SecretKeyRef.Name, from.SecretKeyRef.Key)
		case from.ConfigMapKeyRef != nil:
			optional = from.ConfigMapKeyRef.Optional
			value, err = r.configMapKey(ctx, path, from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Key)
		case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.namespace":
			value = r.namespace
		default:
			return invalid("%s: takes its value from a pod or a file, and there is neither: use secretKeyRef, configMapKeyRef or a value", path)
		}
		if err = unlessOptional(err, optional); err != nil {
			return err
		} else if from.FieldRef != nil || value != "" {
			env[variable.Name] = value
		}
	}
	return nil
}

// expand replaces each $(NAME) with the variable's value, as a pod does. expand keeps
// $(NAME) if there is no such variable, and replaces $$ with a dollar sign.
func expand(text string, env map[string]string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, rest, closed := strings.Cut(strings.TrimPrefix(after, "("), ")")
		value, known := env[name]
		switch {
		case strings.HasPrefix(after, "$"):
			out.WriteByte('$')
			text = after[1:]
		case strings.HasPrefix(after, "(") && closed && known:
			out.WriteString(value)
			text = rest
		default:
			out.WriteByte('$')
			text = after
		}
	}
}
