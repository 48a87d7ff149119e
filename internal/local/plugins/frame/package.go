// Package frame contains the frame shared by the local Pulumi plugins: a package description, whose schema, checks
// and diffs follow from the Go types of an SDK, and the process that serves it.
package frame

import (
	"context"
	"errors"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// ErrNotFound is Read's error for an object that no longer exists. Deleting such an object succeeds.
var ErrNotFound = errors.New("not found")

// Package describes one provider plugin.
type Package struct {
	// Name and Version identify the plugin. Both are required.
	Name, Version string
	// Description is one sentence for the schema. It should say that the plugin is a local one.
	Description string
	// Config is a value of the provider's ProviderArgs type in the SDK, or nil for a provider without configuration.
	Config any
	// ConfigSecrets names the config properties that are secret.
	ConfigSecrets []string
	// Resources maps type tokens, for example "gcp:sql/user:User", to resources.
	Resources map[string]Resource
	// Functions maps tokens, for example "gcp:sql/getDatabase:getDatabase", to functions.
	Functions map[string]Function
	// Configure receives the checked provider configuration before any operation. The configuration has no secret
	// marks. Configure may be nil.
	Configure func(ctx context.Context, config property.Map) error
}

// Resource describes one resource type. Properties have Pulumi's names. Paths are dotted and omit array indices
// ("settings.tier").
type Resource struct {
	// Args and State are values of the SDK's types, for example sql.UserArgs{} and sql.User{}. The inputs are the
	// fields of Args' element type, and the outputs are the Output fields of State. Both are required.
	Args, State any
	// Rules describe the special behaviour of single properties.
	Rules Rules
	// Identity lists the inputs that name the object. If a replacement changes none of them, the engine deletes the
	// old object first. Nil means that old and new objects never collide.
	Identity []string
	// AutoName is the input for a generated name if the program gives none: the resource's name, a dash and seven
	// random digits, as in the official providers. If AutoName is empty, the plugin generates no name.
	AutoName string
	// Differ returns additional paths whose change replaces the resource, given the old and the new inputs. It may be
	// nil.
	Differ func(olds, news property.Map) []string
	// Outdated returns the outputs that no longer follow from the inputs, because the provider's configuration or the
	// plugin changed. They cause an update. Outdated gets the last state and the new inputs, both fully known. It may
	// be nil.
	Outdated func(state, news property.Map) []string
	// Operations do the work; see Handle.
	Operations Operations
}

// Request is the argument of an operation. Its inputs have no secret marks and no unknown values.
type Request[A, S any] struct {
	// URN is the URN of the resource. ID is its ID if the object exists.
	URN resource.URN
	ID  string
	// Args are the wanted inputs. In Delete they are the last inputs. In Read they are the last known inputs, or zero
	// in an import. In Update, inputs that the program leaves to the service have the object's values.
	Args A
	// Old are the inputs that match the existing object, in Update only.
	Old A
	// State is the last known state. In Update it is the current state. In Create and in an import it is zero.
	State S
	// Importing is true in a Read that has only an ID.
	Importing bool
	// Timeout is the program's own time limit, or zero if it sets none.
	Timeout time.Duration
}

// CRUD holds the typed operations of a resource. A holds the inputs that the resource understands, and S the outputs.
// Both have JSON tags with Pulumi's property names. The plugin accepts the SDK's other inputs, keeps them in the state
// and warns that they have no effect.
type CRUD[A, S any] struct {
	// Check refuses invalid inputs of the right type. It may be nil. args lacks unknown inputs.
	Check func(args A) []Failure
	// Create creates the object. An ID together with an error means that the object exists but is incomplete.
	Create func(ctx context.Context, r Request[A, S]) (id string, state S, err error)
	// Read returns the current object, or ErrNotFound. If Read is nil, the state is authoritative.
	Read func(ctx context.Context, r Request[A, S]) (id string, state S, err error)
	// Update changes the object in place. If Update is nil, the plugin only records the new inputs.
	Update func(ctx context.Context, r Request[A, S]) (state S, err error)
	// Delete removes the object. If Delete is nil, there is nothing to remove.
	Delete func(ctx context.Context, r Request[A, S]) error
}

// Failure is one invalid input.
type Failure struct {
	// Path is the path of the property in Pulumi's notation.
	Path string
	// Reason is one clause that names the fault.
	Reason string
}

// Function describes a function of the package.
type Function struct {
	// Args and Result are values of the SDK's types, for example sql.LookupDatabaseArgs{} and sql.LookupDatabaseResult{}.
	Args, Result any
	// Secrets are the paths of results that are always secret.
	Secrets []string
	// Call does the work; see Call.
	Call func(ctx context.Context, args property.Map) (property.Map, error)
}
