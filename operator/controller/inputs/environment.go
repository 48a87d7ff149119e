package inputs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/handoff/keys"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/fields"
)

// env sets the environment in the order of a pod's, in which later entries win: first
// the variables from whole objects, then single variables. The workspace template comes
// last, because it overrides the rest.
func (r *Resolver) env(ctx context.Context, spec *v1.StackSpec, in *Inputs) error {
	for _, step := range []func(context.Context, *v1.StackSpec, map[string]string) error{
		r.wholeEnv, r.templateEnvFrom, r.singleEnv, r.templateEnv,
	} {
		if err := step(ctx, spec, in.Env); err != nil {
			return err
		}
	}
	return nil
}

// wholeEnv reads the deprecated fields for environment variables.
func (r *Resolver) wholeEnv(ctx context.Context, spec *v1.StackSpec, env map[string]string) error {
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
		secret, err := r.Secret(ctx, "spec.envSecrets", name)
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
		if err := fields.CheckVariable(path, prefix+key); err != nil {
			return err
		}
		env[prefix+key] = data[key]
	}
	return nil
}

// copySecret sets a variable for each key of a Secret, and records the values, so that messages mask them.
func (r *Resolver) copySecret(env map[string]string, path, prefix string, secret *corev1.Secret) error {
	data := map[string]string{}
	for key, value := range secret.Data {
		data[key] = string(value)
		r.Use(string(value))
	}
	return copyAll(env, path, prefix, data)
}

// templateEnvFrom sets the variables of whole objects from the workspace template. An optional object that is missing sets none.
func (r *Resolver) templateEnvFrom(ctx context.Context, spec *v1.StackSpec, env map[string]string) error {
	for i, from := range fields.Workspace(spec).EnvFrom {
		path := fields.EnvFromPath(i)
		if err := fields.CheckEnvFrom(path, from); err != nil {
			return err
		}
		var err error
		var optional *bool
		if from.ConfigMapRef != nil {
			var configMap *corev1.ConfigMap
			optional = from.ConfigMapRef.Optional
			if configMap, err = r.configMap(ctx, path, from.ConfigMapRef.Name); err == nil {
				err = copyAll(env, path, from.Prefix, configMap.Data)
			}
		} else {
			var secret *corev1.Secret
			optional = from.SecretRef.Optional
			if secret, err = r.Secret(ctx, path, from.SecretRef.Name); err == nil {
				err = r.copySecret(env, path, from.Prefix, secret)
			}
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

// former sets the variable of the former passphrase, which the platform adds to a team's context while it rotates the passphrase.
func (r *Resolver) former(env map[string]string, name string) {
	secret := r.secrets[name]
	if secret == nil { // The reference names the Secret, and has the type of a literal.
		return
	}
	if value := string(secret.Data[keys.FormerPassphrase]); value != "" {
		r.Use(value)
		env[keys.FormerPassphrase] = value
	}
}

func (r *Resolver) singleEnv(ctx context.Context, spec *v1.StackSpec, env map[string]string) error {
	if spec.AccessTokenSecret != "" {
		token, err := r.secretKey(ctx, "spec.accessTokenSecret", spec.AccessTokenSecret, "accessToken")
		if err != nil {
			return err
		}
		env["PULUMI_ACCESS_TOKEN"] = token
	}
	for _, name := range slices.Sorted(maps.Keys(spec.EnvRefs)) {
		value, err := r.Value(ctx, "spec.envRefs."+name, spec.EnvRefs[name])
		if err != nil {
			return err
		}
		env[name] = value
		if ref := spec.EnvRefs[name].Secret; name == keys.Passphrase && ref != nil && ref.Name == keys.TenantName {
			r.former(env, ref.Name)
		}
	}
	return nil
}

// templateEnv sets single variables from the workspace template. A run has no pod, so the namespace is the only field that a
// variable can refer to.
func (r *Resolver) templateEnv(ctx context.Context, spec *v1.StackSpec, env map[string]string) error {
	for _, variable := range fields.Workspace(spec).Env {
		path := fields.WorkspacePath + "env." + variable.Name
		from := variable.ValueFrom
		if from == nil {
			env[variable.Name] = expand(variable.Value, env)
			continue
		}
		if err := fields.CheckValueFrom(path, *from); err != nil {
			return err
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
		default:
			value = r.namespace // CheckValueFrom permits no other field of a pod.
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
