// Package frame serves the local Pulumi plugins. A plugin describes its resources by the Go types of an official SDK,
// rules and operations. Package frame derives the schema, the checks and the diffs from the description.
package frame

import (
	"context"
	"errors"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
)

// ErrNotFound is the error of Read and Delete for an object that does not exist. A refresh removes such an object from
// the state, and its deletion succeeds.
var ErrNotFound = errors.New("not found")

// Package describes one provider plugin.
type Package struct {
	// Name and Version identify the plugin. Both are required.
	Name, Version string
	// Parameter is set if another plugin serves the package. Nil means that the package has a plugin of its own.
	Parameter *Parameter
	// Schema is the schema of the SDK, in JSON. Empty means a schema that follows from the other fields.
	Schema []byte
	// Description is one sentence for the schema. It says that the plugin is local.
	Description string
	// Config is a value of the SDK's ProviderArgs type. Nil means that the provider has no configuration.
	Config any
	// ConfigSecrets are the names of the secret configuration properties.
	ConfigSecrets []string
	// Resources maps type tokens, for example "gcp:sql/user:User", to resources.
	Resources map[string]Resource
	// Functions maps tokens, for example "gcp:sql/getDatabase:getDatabase", to functions.
	Functions map[string]Function
	// Configure gets the checked configuration of the provider, without secret marks, before the first operation. It
	// may be nil.
	Configure func(ctx context.Context, config property.Map) error
}

// Resource describes one resource type. Properties have Pulumi's names. Paths are dotted and omit array indices
// ("settings.tier").
type Resource struct {
	// Args and State are values of the SDK's types, for example sql.UserArgs{} and sql.User{}. The fields of Args'
	// element type are the inputs. The fields of State with a pulumi tag are the outputs. Both are required.
	Args, State any
	// Rules describe the behaviour of properties that the types do not show. A property without a rule is optional and
	// changes in place.
	Rules rules.ByPath
	// Identity lists the inputs that identify the object. If a replacement changes none of them, the old and the new
	// object cannot exist together, and the engine deletes the old one first. If Identity is nil, the engine always
	// creates the new object first.
	Identity []string
	// AutoName is the input that gets a generated name if the program sets none: the resource's name, a dash and seven
	// random digits, as in the official providers. If AutoName is empty, the plugin generates no name.
	AutoName string
	// Differ returns the paths whose change replaces the resource for these old and new inputs, in addition to those
	// of the rules. It may be nil.
	Differ func(olds, news property.Map) []string
	// Outdated returns the outputs that an update would change although the inputs are the same, because the provider's
	// configuration, the plugin or the object has changed. They cause an update. Outdated gets the last state and the new
	// inputs, both without unknown values. Each preview and each up waits for it. It may be nil.
	Outdated func(ctx context.Context, state, news property.Map) []string
	// Operations create, read, update and delete the object. Handle creates them.
	Operations Operations
}

// Request is the argument of an operation. A holds the inputs and S the outputs, as in CRUD. Both are without secret
// marks and unknown values.
type Request[A, S any] struct {
	// URN is the URN of the resource. ID is its ID if the object exists.
	URN resource.URN
	ID  string
	// Args are the inputs of the program. In Read and Delete they are the last known inputs, or zero in an import. In
	// Update, the computed inputs that the program does not set have the object's values.
	Args A
	// Old are the inputs that correspond to the existing object. It is zero except in Update.
	Old A
	// State is the last known state. In Update it is the state of the object before the update. In Create and in an
	// import it is zero.
	State S
	// Importing is true in a Read that gets only an ID.
	Importing bool
	// Timeout is the time limit that the program sets in customTimeouts, or zero if it sets none.
	Timeout time.Duration
}

// CRUD holds the typed operations of a resource. A is a struct of the inputs that the operations use, and S a struct of
// the outputs. Their JSON tags are Pulumi's names of the properties. The plugin accepts the other inputs of the SDK,
// keeps them in the state and warns that they have no effect.
type CRUD[A, S any] struct {
	// Check returns the failures of inputs that satisfy the types and the rules. Unknown inputs are zero in args. Check
	// may be nil.
	Check func(args A) []Failure
	// Create creates the object. If it returns an ID together with an error, the object exists but is incomplete, and
	// the engine keeps it in the state.
	Create func(ctx context.Context, r Request[A, S]) (id string, state S, err error)
	// Read returns the current object, or ErrNotFound. If Read is nil, the object exists only in the state.
	Read func(ctx context.Context, r Request[A, S]) (id string, state S, err error)
	// Update changes the object in place. If Update is nil, the plugin only records the new inputs.
	Update func(ctx context.Context, r Request[A, S]) (state S, err error)
	// Delete deletes the object. ErrNotFound counts as success. If Delete is nil, the engine only forgets the state.
	Delete func(ctx context.Context, r Request[A, S]) error
}

// Failure is one invalid input.
type Failure struct {
	// Path is the path of the property in the engine's notation: nodePools[0].name.
	Path string
	// Reason is the message, one clause.
	Reason string
}

// Function describes a function of the package.
type Function struct {
	// Args and Result are values of the SDK's types, for example sql.LookupDatabaseArgs{} and
	// sql.LookupDatabaseResult{}.
	Args, Result any
	// Secrets are the dotted paths of the secret parts of the result.
	Secrets []string
	// Call calls the function. The function Call of this package creates it.
	Call func(ctx context.Context, args property.Map) (property.Map, error)
}
