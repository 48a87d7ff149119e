package frame

import (
	"context"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/frame/codec"
)

// Operations are the operations of a resource in terms of properties. Handle creates them.
type Operations struct {
	understood *codec.Shape
	check      func(inputs property.Map) ([]Failure, error)
	create     func(ctx context.Context, r rawRequest) (string, property.Map, error)
	read       func(ctx context.Context, r rawRequest) (string, property.Map, error)
	update     func(ctx context.Context, r rawRequest) (property.Map, error)
	remove     func(ctx context.Context, r rawRequest) error
}

// rawRequest is a Request in terms of properties.
type rawRequest struct {
	urn              resource.URN
	id               string
	inputs, old      property.Map
	state            property.Map
	importing        bool
	timeoutInSeconds float64
}

// Handle converts typed operations into the operations of a Resource.
func Handle[A, S any](c CRUD[A, S]) Operations {
	ops := Operations{understood: codec.ShapeOf[A]()}
	ops.check = func(inputs property.Map) ([]Failure, error) {
		if c.Check == nil {
			return nil, nil
		}
		var args A
		if err := codec.Decode(inputs, &args); err != nil {
			return nil, err
		}
		return c.Check(args), nil
	}
	ops.create = func(ctx context.Context, raw rawRequest) (string, property.Map, error) {
		r, err := typed[A, S](raw)
		if err != nil {
			return "", property.Map{}, err
		}
		id, state, err := c.Create(ctx, r)
		return encoded(id, state, err)
	}
	ops.read = func(ctx context.Context, raw rawRequest) (string, property.Map, error) {
		if c.Read == nil {
			return raw.id, raw.state, nil
		}
		r, err := typed[A, S](raw)
		if err != nil {
			return "", property.Map{}, err
		}
		id, state, err := c.Read(ctx, r)
		if err != nil {
			return "", property.Map{}, err
		}
		return encoded(id, state, nil)
	}
	ops.update = func(ctx context.Context, raw rawRequest) (property.Map, error) {
		if c.Update == nil {
			return raw.state, nil
		}
		r, err := typed[A, S](raw)
		if err != nil {
			return property.Map{}, err
		}
		state, err := c.Update(ctx, r)
		_, m, err := encoded(raw.id, state, err)
		return m, err
	}
	ops.remove = func(ctx context.Context, raw rawRequest) error {
		if c.Delete == nil {
			return nil
		}
		r, err := typed[A, S](raw)
		if err != nil {
			return err
		}
		return c.Delete(ctx, r)
	}
	return ops
}

// Call converts a typed function into the Call of a Function. The JSON tags of A and R are the names of the properties.
func Call[A, R any](f func(ctx context.Context, args A) (R, error)) func(context.Context, property.Map) (property.Map, error) {
	return func(ctx context.Context, m property.Map) (property.Map, error) {
		var args A
		if err := codec.Decode(m, &args); err != nil {
			return property.Map{}, err
		}
		result, err := f(ctx, args)
		if err != nil {
			return property.Map{}, err
		}
		return codec.Encode(result)
	}
}

// typed decodes a request.
func typed[A, S any](raw rawRequest) (Request[A, S], error) {
	r := Request[A, S]{
		URN:       raw.urn,
		ID:        raw.id,
		Importing: raw.importing,
		Timeout:   time.Duration(raw.timeoutInSeconds * float64(time.Second)),
	}
	if err := codec.Decode(raw.inputs, &r.Args); err != nil {
		return r, err
	}
	if err := codec.Decode(raw.old, &r.Old); err != nil {
		return r, err
	}
	return r, codec.Decode(raw.state, &r.State)
}

// encoded encodes the result of an operation. It returns the operation's error rather than an encoding error, and the
// state together with the error if the object exists.
func encoded[S any](id string, state S, opErr error) (string, property.Map, error) {
	if opErr != nil && id == "" {
		return "", property.Map{}, opErr
	}
	m, err := codec.Encode(state)
	if opErr != nil {
		err = opErr
	}
	return id, m, err
}
