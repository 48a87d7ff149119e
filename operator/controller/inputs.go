package controller

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// inputs holds the environment and config of a Stack, with all references resolved.
type inputs struct {
	env          map[string]string
	config       map[string]json.RawMessage
	secretConfig map[string]string

	// secrets lists the values from Secrets.
	secrets []string
}

// resolver resolves the references of one Stack to objects in the Stack's namespace. A
// resolver reads from the API server, because a cache would hold every Secret of every
// team.
type resolver struct {
	reader    client.Reader
	namespace string

	// depend is called with each object before the resolver reads it.
	depend func(dependency)

	// mend returns the advice for an object that is missing or lacks a key. For an object that the platform does not make, mend
	// returns its argument otherwise.
	mend func(ctx context.Context, name, otherwise string) string

	secrets    map[string]*corev1.Secret
	configMaps map[string]*corev1.ConfigMap

	// used lists the values that the resolver has read from Secrets.
	used []string

	// versions maps each object that the resolver has read to a version of its content.
	versions map[string]string
}

func newResolver(reader client.Reader, namespace string, depend func(dependency), mend func(ctx context.Context, name, otherwise string) string) *resolver {
	return &resolver{
		reader: reader, namespace: namespace, depend: depend, mend: mend,
		secrets: map[string]*corev1.Secret{}, configMaps: map[string]*corev1.ConfigMap{}, versions: map[string]string{},
	}
}

// resolve resolves all references of a spec except those of its source.
func (r *resolver) resolve(ctx context.Context, spec *v1.StackSpec) (*inputs, error) {
	in := &inputs{env: map[string]string{}, config: map[string]json.RawMessage{}, secretConfig: map[string]string{}}
	for _, step := range []func(context.Context, *v1.StackSpec, *inputs) error{r.env, r.config, r.secretConfig} {
		if err := step(ctx, spec, in); err != nil {
			return nil, err
		}
	}
	in.secrets = r.used
	return in, nil
}

// digest returns a digest of the versions of all objects that the resolver has read.
// The digest reveals nothing about the content of Secrets: it includes a Secret's
// resource version, because a short value could be guessed from a digest of the
// content.
func (r *resolver) digest() string {
	if len(r.versions) == 0 {
		return ""
	}
	hash := sha256.New()
	for _, object := range slices.Sorted(maps.Keys(r.versions)) {
		fmt.Fprintf(hash, "%s %s\n", object, r.versions[object])
	}
	return fmt.Sprintf("%x", hash.Sum(nil)[:8])
}

func (r *resolver) config(ctx context.Context, spec *v1.StackSpec, in *inputs) error {
	for key, value := range spec.Config {
		in.config[key] = value.Raw
	}
	for _, key := range slices.Sorted(maps.Keys(spec.ConfigRef)) {
		ref, path := spec.ConfigRef[key], "spec.configRef."+key
		value, err := r.configMapKey(ctx, path, ref.Name, ref.Key)
		if err != nil {
			return err
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
	// A key has one value. The secret value wins; under upstream it also wins, because
	// upstream sets it last.
	for key := range in.secretConfig {
		delete(in.config, key)
	}
	return nil
}

// value resolves one reference. value refuses references to the operator's environment,
// the operator's files or another namespace.
func (r *resolver) value(ctx context.Context, path string, ref v1.ResourceRef) (string, error) {
	switch {
	case ref.Type == v1.ResourceSelectorLiteral && ref.Literal != nil:
		return ref.Literal.Value, nil
	case ref.Type == v1.ResourceSelectorSecret && ref.Secret != nil:
		if ref.Secret.Namespace != "" && ref.Secret.Namespace != r.namespace {
			return "", invalid("%s: Secret %s/%s is in another namespace: only those of the Stack's own are read", path, ref.Secret.Namespace, ref.Secret.Name)
		}
		return r.secretKey(ctx, path, ref.Secret.Name, ref.Secret.Key)
	case ref.Type == v1.ResourceSelectorLiteral, ref.Type == v1.ResourceSelectorSecret:
		return "", invalid("%s: type %s needs the field of that name", path, ref.Type)
	case ref.Type == v1.ResourceSelectorEnv, ref.Type == v1.ResourceSelectorFS:
		return "", invalid("%s: type %s would read the operator's own environment or files and is refused: use Secret or Literal", path, ref.Type)
	}
	return "", invalid("%s: type %q is unknown: use Secret or Literal", path, ref.Type)
}

func (r *resolver) secretKey(ctx context.Context, path, name, key string) (string, error) {
	secret, err := r.secret(ctx, path, name)
	if err != nil {
		return "", err
	}
	value, ok := secret.Data[key]
	if !ok {
		return "", fmt.Errorf("%s: Secret %s/%s has no key %q: %s", path, r.namespace, name, key, r.mend(ctx, name, "add it"))
	}
	r.used = append(r.used, string(value))
	return string(value), nil
}

func (r *resolver) configMapKey(ctx context.Context, path, name, key string) (string, error) {
	configMap, err := r.configMap(ctx, path, name)
	if err != nil {
		return "", err
	}
	value, ok := configMap.Data[key]
	if !ok {
		return "", fmt.Errorf("%s: ConfigMap %s/%s has no key %q: %s", path, r.namespace, name, key, r.mend(ctx, name, "add it"))
	}
	return value, nil
}

func (r *resolver) secret(ctx context.Context, path, name string) (*corev1.Secret, error) {
	return lookUp(ctx, r, path, name, secretResource.Resource, r.secrets, &corev1.Secret{}, func(secret *corev1.Secret) string {
		return string(secret.UID) + "/" + secret.ResourceVersion
	})
}

func (r *resolver) configMap(ctx context.Context, path, name string) (*corev1.ConfigMap, error) {
	return lookUp(ctx, r, path, name, configMapResource.Resource, r.configMaps, &corev1.ConfigMap{}, func(configMap *corev1.ConfigMap) string {
		// Marshal cannot fail for a map of strings, and it sorts the keys.
		data, _ := json.Marshal(configMap.Data)
		return fmt.Sprintf("%x", sha256.Sum256(data))
	})
}

// kinds maps resources to kinds.
var kinds = map[string]string{secretResource.Resource: "Secret", configMapResource.Resource: "ConfigMap"}

// lookUp reads an object once and records its version. The version of a missing object
// is "missing".
func lookUp[T client.Object](ctx context.Context, r *resolver, path, name, resource string, known map[string]T, object T, version func(T) string) (T, error) {
	var none T
	if found, ok := known[name]; ok {
		return found, nil
	}
	if name == "" {
		return none, invalid("%s: give the name of a %s", path, kinds[resource])
	}
	gvr := secretResource
	if resource == configMapResource.Resource {
		gvr = configMapResource
	}
	r.depend(dependency{scope{gvr, r.namespace}, name})
	if err := r.reader.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, object); err != nil {
		if apierrors.IsNotFound(err) {
			r.versions[resource+"/"+name] = "missing"
			return none, &missing{fmt.Sprintf("%s: there is no %s %s/%s: %s", path, kinds[resource], r.namespace, name, r.mend(ctx, name, "create it"))}
		}
		return none, fmt.Errorf("%s: %w", path, err)
	}
	known[name] = object
	r.versions[resource+"/"+name] = version(object)
	return object, nil
}

// missing is the error of a reference to an object that does not exist.
type missing struct{ message string }

// Error implements error.
func (m *missing) Error() string { return m.message }
