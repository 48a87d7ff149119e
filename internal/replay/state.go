// Package replay runs the resources of a Pulumi state again, as a program: in another place, with new credentials and secrets.
//
// The program registers what the state contains, resource by resource, with the recorded inputs. So Pulumi's own engine and plugins create
// the resources, and write the new state. Where an input repeats an output of another resource, it gets the new output.
package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/strata-platform/strata/operator/engine/settings"
)

// MaxState bounds the size of a state, in bytes.
const MaxState = 64 << 20

// Types of resources that the engine itself has.
const (
	stackType     = "pulumi:pulumi:Stack"
	referenceType = "pulumi:pulumi:StackReference"
	providers     = "pulumi:providers:"
)

// State is the content of a stack's state, with its secrets in plain text: it belongs into the memory only.
type State struct {
	// Resources are the resources, each after those that it depends on.
	Resources []Resource
	// Outputs are the outputs of the stack.
	Outputs resource.PropertyMap
}

// Resource is a resource of a state.
type Resource struct {
	apitype.ResourceV3
	// In and Out are the inputs and outputs. They replace Inputs and Outputs.
	In, Out resource.PropertyMap
}

// Read decodes a state: a file of a file backend, or the output of `pulumi stack export`. passphrase decrypts its secrets, and keys caches the
// keys of passphrases.
func Read(ctx context.Context, raw []byte, passphrase string, keys *settings.Crypters) (*State, error) {
	if len(raw) > MaxState {
		return nil, fmt.Errorf("it has %d bytes, and the limit is %d", len(raw), MaxState)
	}
	var file struct {
		Version    int `json:"version"`
		Checkpoint struct {
			Latest *apitype.DeploymentV3 `json:"latest"`
		} `json:"checkpoint"`
		Deployment *apitype.DeploymentV3 `json:"deployment"`
	}
	if err := json.Unmarshal(raw, &file); err != nil || file.Version < 3 {
		return nil, errors.New("it is no state of Pulumi of version 3")
	}
	deployment := file.Checkpoint.Latest
	if deployment == nil {
		deployment = file.Deployment
	}
	state := &State{}
	if deployment == nil {
		return state, nil
	}
	r := &reader{ctx: ctx, key: func() (*settings.Key, error) { return keyOf(deployment.SecretsProviders, passphrase, keys) }}
	for _, each := range deployment.Resources {
		if each.Delete || each.Type == referenceType {
			continue
		}
		in, err := r.object(withoutDefaults(each.Inputs))
		if err != nil {
			return nil, fmt.Errorf("the inputs of %s: %w", each.URN, err)
		}
		out, err := r.object(each.Outputs)
		if err != nil {
			return nil, fmt.Errorf("the outputs of %s: %w", each.URN, err)
		}
		if each.Type == stackType {
			state.Outputs = out
			continue
		}
		each.Inputs, each.Outputs = nil, nil
		state.Resources = append(state.Resources, Resource{ResourceV3: each, In: in, Out: out})
	}
	return state, nil
}

// keyOf returns the key that decrypts a state.
func keyOf(provider *apitype.SecretsProvidersV1, passphrase string, keys *settings.Crypters) (*settings.Key, error) {
	if provider == nil || provider.Type != "passphrase" {
		kind := ""
		if provider != nil {
			kind = provider.Type
		}
		return nil, fmt.Errorf("its secrets are encrypted by the secrets provider %.40q, and only those that a passphrase encrypts can be read here", kind)
	}
	var salted struct {
		Salt string `json:"salt"`
	}
	if err := json.Unmarshal(provider.State, &salted); err != nil {
		return nil, errors.New("its secrets provider has no salt")
	}
	return keys.Key(passphrase, salted.Salt)
}

// Marks of special values in a state (pulumi/pulumi, sdk/go/common/resource/sig).
const (
	signature      = "4dabf18193072939515e22adb298388d"
	secretMark     = "1b47061264138c4ac30d75fd1eb44270"
	referenceMark  = "5cf8f73096256a8f31e491e813e4eb8e"
	unknownLiteral = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
)

// reader converts values of a state. A reader without a key converts the content of a secret.
type reader struct {
	ctx context.Context
	key func() (*settings.Key, error)
}

func (r *reader) object(values map[string]any) (resource.PropertyMap, error) {
	made := resource.PropertyMap{}
	for name, value := range values {
		converted, err := r.value(value)
		if err != nil {
			return nil, err
		}
		made[resource.PropertyKey(name)] = converted
	}
	return made, nil
}

func (r *reader) value(value any) (resource.PropertyValue, error) {
	switch value := value.(type) {
	case map[string]any:
		switch value[signature] {
		case nil:
			object, err := r.object(value)
			return resource.NewProperty(object), err
		case secretMark:
			plain, err := r.secret(value)
			return resource.MakeSecret(plain), err
		case referenceMark:
			// A component's output that is a resource. No input of a resource needs it.
			return resource.NewNullProperty(), nil
		}
		return resource.PropertyValue{}, errors.New("it contains an asset or a value of an unknown kind, which cannot be created again")
	case []any:
		made := make([]resource.PropertyValue, len(value))
		for i, each := range value {
			var err error
			if made[i], err = r.value(each); err != nil {
				return resource.PropertyValue{}, err
			}
		}
		return resource.NewProperty(made), nil
	case string:
		if value == unknownLiteral {
			return resource.NewNullProperty(), nil
		}
		return resource.NewProperty(value), nil
	}
	return resource.NewPropertyValue(value), nil
}

func (r *reader) secret(value map[string]any) (resource.PropertyValue, error) {
	text, plain := value["plaintext"].(string)
	ciphertext, _ := value["ciphertext"].(string)
	switch {
	case plain:
	case r.key == nil:
		// Pulumi encrypts a secret within a secret once, with the outer one.
		text = ciphertext
	default:
		key, err := r.key()
		if err != nil {
			return resource.PropertyValue{}, err
		}
		if text, err = key.DecryptValue(r.ctx, ciphertext); err != nil {
			return resource.PropertyValue{}, errors.New("a ciphertext is damaged")
		}
	}
	var decoded any
	if err := json.Unmarshal([]byte(text), &decoded); err != nil {
		return resource.PropertyValue{}, errors.New("a secret is not JSON")
	}
	return (&reader{ctx: r.ctx}).value(decoded)
}

// name returns the name of a resource in its program.
func (r Resource) name() string { return r.URN.Name() }

// isProvider reports whether the resource is a provider, and isDefault whether the engine has created it by itself.
func (r Resource) isProvider() bool { return strings.HasPrefix(string(r.Type), providers) }
func (r Resource) isDefault() bool {
	return r.isProvider() && strings.HasPrefix(r.name(), "default")
}

// providerURN returns the URN in the reference to the resource's provider, "URN::ID".
func (r Resource) providerURN() resource.URN {
	at := strings.LastIndex(r.Provider, "::")
	return resource.URN(r.Provider[:max(0, at)])
}

// needs returns the resources that must exist before this one.
func (r Resource) needs() []resource.URN {
	all := append([]resource.URN{r.Parent, r.providerURN(), r.DeletedWith}, r.Dependencies...)
	for _, each := range r.PropertyDependencies {
		all = append(all, each...)
	}
	return all
}

// Output returns the text at a path in the outputs of the stack; empty if there is none.
func (s *State) Output(path ...string) string {
	value := resource.NewProperty(s.Outputs)
	for _, name := range path {
		if value = open(value); !value.IsObject() {
			return ""
		}
		value = value.ObjectValue()[resource.PropertyKey(name)]
	}
	if value = open(value); value.IsString() {
		return value.StringValue()
	}
	return ""
}
