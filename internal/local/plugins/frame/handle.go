package frame

import (
	"context"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// Operations are the untyped operations of a resource. Handle creates them.
type Operations struct {
	understood *shape
	check      func(inputs property.Map) ([]Failure, error)
	create     func(ctx context.Context, r rawRequest) (string, property.Map, error)
	read       func(ctx context.Context, r rawRequest) (string, property.Map, error)
	update     func(ctx context.Context, r rawRequest) (property.Map, error)
	remove     func(ctx context.Context, r rawRequest) error
}

type rawRequest struct {
	urn              resource.URN
	id               string
	inputs, old      property.Map
	state            property.Map
	importing        bool
	timeoutInSeconds float64
}

// Handle converts typed operations into those of a Resource.
func Handle[A, S any](c CRUD[A, S]) Operations {
	ops := Operations{understood: shapeOf[A]()}
	ops.check = func(inputs property.Map) ([]Failure, error) {
		if c.Check == nil {
			return nil, nil
		}
		var args A
		if err := Decode(inputs, &args); err != nil {
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

// Call converts a typed function into that of a Function.
func Call[A, R any](f func(ctx context.Context, args A) (R, error)) func(context.Context, property.Map) (property.Map, error) {
	return func(ctx context.Context, m property.Map) (property.Map, error) {
		var args A
		if err := Decode(m, &args); err != nil {
			return property.Map{}, err
		}
		result, err := f(ctx, args)
		if err != nil {
			return property.Map{}, err
		}
		return Encode(result)
	}
}

func typed[A, S any](raw rawRequest) (Request[A, S], error) {
	r := Request[A, S]{
		URN:       raw.urn,
		ID:        raw.id,
		Importing: raw.importing,
		Timeout:   time.Duration(raw.timeoutInSeconds * float64(time.Second)),
	}
	if err := Decode(raw.inputs, &r.Args); err != nil {
		return r, err
	}
	if err := Decode(raw.old, &r.Old); err != nil {
		return r, err
	}
	return r, Decode(raw.state, &r.State)
}

// encoded encodes the state of an operation. The operation's error takes precedence over an encoding error, and
// encoded returns the state with either.
func encoded[S any](id string, state S, opErr error) (string, property.Map, error) {
	if opErr != nil && id == "" {
		return "", property.Map{}, opErr
	}
	m, err := Encode(state)
	if opErr != nil {
		err = opErr
	}
	return id, m, err
}
