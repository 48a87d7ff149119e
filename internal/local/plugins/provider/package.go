// Package provider contains the frame shared by the local Pulumi plugins: a package description whose schema, checks and
// diffs follow from the Go types of an SDK, and the process that serves it.
package provider

import (
	"context"
	"errors"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// ErrNotFound is returned by Read when the object no longer exists. Deleting such an object is no error.
var ErrNotFound = errors.New("not found")

// Package describes one provider plugin.
type Package struct {
	// Name and Version are what the plugin reports. Both are required.
	Name, Version string
	// Description is one sentence for the schema. It should say that the plugin is a local one.
	Description string
	// Config is a value of the provider's ProviderArgs type in the SDK, or nil for a provider without configuration.
	Config any
	// ConfigSecrets names the config properties that are secret.
	ConfigSecrets []string
	// Resources by type token, for example "gcp:sql/user:User".
	Resources map[string]Resource
	// Functions by token, for example "gcp:sql/getDatabase:getDatabase".
	Functions map[string]Function
	// Configure receives the checked provider configuration before any resource is touched. Secrets are unwrapped. It may be nil.
	Configure func(ctx context.Context, config property.Map) error
}

// Resource describes one resource type. Property names are Pulumi's, paths are dotted and ignore array indices
// ("settings.tier").
type Resource struct {
	// Args and State are values of the SDK's types, for example sql.UserArgs{} and sql.User{}. Inputs are the fields of
	// Args' element type, outputs are the Output fields of State. Both are required.
	Args, State any
	// Rules say what is special about single properties.
	Rules Rules
	// Identity are the inputs that name the object. When a replacement leaves them all as they were, the old object is
	// deleted first. Nil means that old and new objects never collide.
	Identity []string
	// AutoName is the input that gets a name when the program gives none: the resource's own, a dash and seven random
	// digits, as the official providers do. Empty means that no name is made.
	AutoName string
	// Differ finds further paths whose change replaces the resource, by the old and the new inputs. It may be nil.
	Differ func(olds, news property.Map) []string
	// Outdated names outputs that do not follow from the inputs any more, because the provider's configuration or the plugin
	// changed. They update the resource. It gets the last state and the new inputs, both fully known, and may be nil.
	Outdated func(state, news property.Map) []string
	// Operations do the work; see Handle.
	Operations Operations
}

// Request is what an operation gets. Inputs carry no secret marks; they never hold unknown values.
type Request[A, S any] struct {
	// URN of the resource, and its ID where it exists already.
	URN resource.URN
	ID  string
	// Args are the inputs that are wanted. In Read they are the last known ones and zero while importing, in Delete the
	// last ones. In Update, what the program leaves to the service is as the object has it.
	Args A
	// Old are the inputs of the existing object as it is, in Update only.
	Old A
	// State is the last known state, in Update the one of now, zero in Create and while importing.
	State S
	// Importing is true in a Read that has nothing but an ID.
	Importing bool
	// Timeout is the program's own time limit, zero when it sets none.
	Timeout time.Duration
}

// CRUD holds the typed operations of a resource. A holds the inputs that it understands and S the outputs, both with JSON
// tags that are Pulumi's property names; the rest of the SDK's inputs is accepted, kept in the state and reported
// as being without effect.
type CRUD[A, S any] struct {
	// Check refuses inputs that are wrong beyond their type. It may be nil. Unknown inputs are absent from args.
	Check func(args A) []Failure
	// Create makes the object. An ID together with an error means that the object exists but is not as it should be.
	Create func(ctx context.Context, r Request[A, S]) (id string, state S, err error)
	// Read returns the object as it is, or ErrNotFound. Nil means that the state is all there is.
	Read func(ctx context.Context, r Request[A, S]) (id string, state S, err error)
	// Update changes the object in place. Nil means that there is nothing to do but to record the new inputs.
	Update func(ctx context.Context, r Request[A, S]) (state S, err error)
	// Delete removes the object. Nil means that there is nothing to remove.
	Delete func(ctx context.Context, r Request[A, S]) error
}

// Failure is one refused input.
type Failure struct {
	// Path of the property, in Pulumi's notation.
	Path string
	// Reason is one clause that names what is wrong.
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
