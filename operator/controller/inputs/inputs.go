// Package inputs resolves the references of a Stack to Secrets and ConfigMaps.
package inputs

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/fields"
	"github.com/strata-platform/strata/operator/controller/stall"
)

// Inputs holds the environment and config of a Stack, with all references resolved.
type Inputs struct {
	// Env holds the environment variables by name.
	Env map[string]string

	// Config holds config values as JSON, SecretConfig secret values as text. No key is in
	// both.
	Config       map[string]json.RawMessage
	SecretConfig map[string]string

	// Secrets lists the values from Secrets.
	Secrets []string
}

// Resolver resolves the references of one Stack to objects in the Stack's namespace. A
// Resolver reads each object once, and from the API server, because a cache would hold
// every Secret of every team.
type Resolver struct {
	reader    client.Reader
	namespace string
	depend    func(dependents.Object)
	advise    func(ctx context.Context, name, otherwise string) string

	// secrets and configMaps hold the objects that the Resolver has read, by name.
	secrets    map[string]*corev1.Secret
	configMaps map[string]*corev1.ConfigMap

	// used lists the values that the Resolver has read from Secrets.
	used []string

	// versions maps each object that the Resolver has read to a version of its content.
	versions map[string]string
}

// New returns a Resolver for a Stack in namespace. The Resolver calls depend with each object before it reads the object.
// advise returns the advice for an object that is missing or has no such key; for an object that the platform does not
// create, advise returns its argument otherwise.
func New(reader client.Reader, namespace string, depend func(dependents.Object), advise func(ctx context.Context, name, otherwise string) string) *Resolver {
	return &Resolver{
		reader: reader, namespace: namespace, depend: depend, advise: advise,
		secrets: map[string]*corev1.Secret{}, configMaps: map[string]*corev1.ConfigMap{}, versions: map[string]string{},
	}
}

// Resolve resolves all references of a spec except those of its source. An error of a wrong reference is a [*stall.Error];
// the error of a missing object is not, because its creation wakes the Stack.
func (r *Resolver) Resolve(ctx context.Context, spec *v1.StackSpec) (*Inputs, error) {
	in := &Inputs{Env: map[string]string{}, Config: map[string]json.RawMessage{}, SecretConfig: map[string]string{}}
	for _, step := range []func(context.Context, *v1.StackSpec, *Inputs) error{r.env, r.config, r.secretConfig} {
		if err := step(ctx, spec, in); err != nil {
			return nil, err
		}
	}
	in.Secrets = r.used
	return in, nil
}

// Use records secret values that a run uses and that Resolve does not read, such as a token.
func (r *Resolver) Use(values ...string) { r.used = append(r.used, values...) }

// Used returns the values that the Resolver has read from Secrets, and those that Use recorded.
func (r *Resolver) Used() []string { return r.used }

// Note records the version of an object that the caller reads itself, so that [Resolver.Digest] includes the version.
func (r *Resolver) Note(object, version string) { r.versions[object] = version }

// Depend records that the Stack depends on an object that the caller is about to read.
func (r *Resolver) Depend(on dependents.Object) { r.depend(on) }

// Digest returns a digest of the versions of all objects that the Resolver has read.
// The digest reveals nothing about the content of Secrets: it includes a Secret's
// resource version, because a short value could be guessed from a digest of the
// content.
func (r *Resolver) Digest() string {
	if len(r.versions) == 0 {
		return ""
	}
	hash := sha256.New()
	for _, object := range slices.Sorted(maps.Keys(r.versions)) {
		fmt.Fprintf(hash, "%s %s\n", object, r.versions[object])
	}
	return fmt.Sprintf("%x", hash.Sum(nil)[:8])
}

func (r *Resolver) config(ctx context.Context, spec *v1.StackSpec, in *Inputs) error {
	for key, value := range spec.Config {
		in.Config[key] = value.Raw
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
		in.Config[key] = raw
	}
	return nil
}

func (r *Resolver) secretConfig(ctx context.Context, spec *v1.StackSpec, in *Inputs) error {
	maps.Copy(in.SecretConfig, spec.Secrets)
	for _, key := range slices.Sorted(maps.Keys(spec.SecretRefs)) {
		value, err := r.Value(ctx, "spec.secretsRef."+key, spec.SecretRefs[key])
		if err != nil {
			return err
		}
		in.SecretConfig[key] = value
	}
	// A key has one value. The secret value wins; under upstream it also wins, because
	// upstream sets it last.
	for key := range in.SecretConfig {
		delete(in.Config, key)
	}
	return nil
}

// Value resolves the reference in the field path, unless [fields.CheckReference] rejects it.
func (r *Resolver) Value(ctx context.Context, path string, ref v1.ResourceRef) (string, error) {
	if err := fields.CheckReference(path, ref, r.namespace); err != nil {
		return "", err
	}
	if ref.Type == v1.ResourceSelectorLiteral {
		return ref.Literal.Value, nil
	}
	return r.secretKey(ctx, path, ref.Secret.Name, ref.Secret.Key)
}

func (r *Resolver) secretKey(ctx context.Context, path, name, key string) (string, error) {
	secret, err := r.Secret(ctx, path, name)
	if err != nil {
		return "", err
	}
	value, ok := secret.Data[key]
	if !ok {
		return "", fmt.Errorf("%s: Secret %s/%s has no key %q: %s", path, r.namespace, name, key, r.advise(ctx, name, "add it"))
	}
	r.Use(string(value))
	return string(value), nil
}

func (r *Resolver) configMapKey(ctx context.Context, path, name, key string) (string, error) {
	configMap, err := r.configMap(ctx, path, name)
	if err != nil {
		return "", err
	}
	value, ok := configMap.Data[key]
	if !ok {
		return "", fmt.Errorf("%s: ConfigMap %s/%s has no key %q: %s", path, r.namespace, name, key, r.advise(ctx, name, "add it"))
	}
	return value, nil
}

// Secret reads the Secret that the field path names. The values that the caller takes from the Secret are the caller's to
// record with [Resolver.Use].
func (r *Resolver) Secret(ctx context.Context, path, name string) (*corev1.Secret, error) {
	return lookUp(ctx, r, path, name, dependents.Secrets, r.secrets, &corev1.Secret{}, func(secret *corev1.Secret) string {
		return string(secret.UID) + "/" + secret.ResourceVersion
	})
}

func (r *Resolver) configMap(ctx context.Context, path, name string) (*corev1.ConfigMap, error) {
	return lookUp(ctx, r, path, name, dependents.ConfigMaps, r.configMaps, &corev1.ConfigMap{}, func(configMap *corev1.ConfigMap) string {
		// Marshal cannot fail for a map of strings, and it sorts the keys.
		data, _ := json.Marshal(configMap.Data)
		return fmt.Sprintf("%x", sha256.Sum256(data))
	})
}

// kinds maps resources to kinds.
var kinds = map[schema.GroupVersionResource]string{dependents.Secrets: "Secret", dependents.ConfigMaps: "ConfigMap"}

// lookUp reads an object once and records its version. The version of a missing object
// is "missing".
func lookUp[T client.Object](ctx context.Context, r *Resolver, path, name string, resource schema.GroupVersionResource, known map[string]T, object T, version func(T) string) (T, error) {
	var none T
	if found, ok := known[name]; ok {
		return found, nil
	}
	if name == "" {
		return none, stall.Invalid("%s: give the name of a %s", path, kinds[resource])
	}
	r.depend(dependents.On(resource, r.namespace, name))
	versioned := resource.Resource + "/" + name
	if err := r.reader.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, object); err != nil {
		if apierrors.IsNotFound(err) {
			r.versions[versioned] = "missing"
			return none, &missing{fmt.Sprintf("%s: there is no %s %s/%s: %s", path, kinds[resource], r.namespace, name, r.advise(ctx, name, "create it"))}
		}
		return none, fmt.Errorf("%s: %w", path, err)
	}
	known[name] = object
	r.versions[versioned] = version(object)
	return object, nil
}

// missing is the error of a reference to an object that does not exist.
type missing struct{ message string }

// Error implements error.
func (m *missing) Error() string { return m.message }
