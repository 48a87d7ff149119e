package replay

import (
	"context"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/internals"
	"golang.org/x/sync/errgroup"
)

// Kinds of registered resources.
type (
	custom    struct{ pulumi.CustomResourceState }
	component struct{ pulumi.ResourceState }
	provider  struct{ pulumi.ProviderResourceState }
)

// Program returns a program that creates the resources of the state and exports the outputs of the stack. It records in words how the
// outputs of the resources have changed.
func (s *State) Program(words *Words) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		p := &program{ctx: ctx, words: words, made: map[resource.URN]*promise{}}
		for _, r := range s.Resources {
			p.made[r.URN] = &promise{Resource: r, done: make(chan struct{})}
		}
		group, wait := errgroup.WithContext(ctx.Context())
		for _, each := range p.made {
			group.Go(func() error { return p.register(wait, each) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
		// A component's outputs repeat those of its children.
		for _, each := range p.made {
			if made, ok := each.made.(*component); ok {
				if err := ctx.RegisterResourceOutputs(made, inputs(words.Map(each.Out))); err != nil {
					return fmt.Errorf("complete %s %s: %w", each.Type, each.name(), err)
				}
			}
		}
		for name, value := range words.Map(s.Outputs) {
			ctx.Export(string(name), input(value))
		}
		return nil
	}
}

// program registers the resources of a state.
type program struct {
	ctx   *pulumi.Context
	words *Words
	made  map[resource.URN]*promise
}

// promise is a resource that is registered when done is closed.
type promise struct {
	Resource
	done chan struct{}
	made pulumi.Resource
}

// register registers a resource when those that it needs exist.
func (p *program) register(ctx context.Context, r *promise) error {
	for _, urn := range r.needs() {
		if needed := p.made[urn]; needed != nil && needed != r {
			select {
			case <-needed.done:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	if !r.isDefault() {
		if err := p.create(ctx, r); err != nil {
			return fmt.Errorf("create %s %s: %w", r.Type, r.name(), err)
		}
	}
	close(r.done)
	return nil
}

// create registers a resource and waits for its outputs.
func (p *program) create(ctx context.Context, r *promise) error {
	in := p.inputs(r)
	options := p.options(r)
	var raw pulumi.Output
	var err error
	switch {
	case !r.Custom:
		made := &component{}
		r.made = made
		err = p.ctx.RegisterComponentResourceV2(string(r.Type), r.name(), in, made, options...)
		raw = pulumi.InternalGetRawOutputs(&made.ResourceState)
	case r.isProvider():
		made := &provider{}
		r.made = made
		var reference string
		if reference, err = p.packageOf(r); err == nil {
			err = p.ctx.RegisterPackageResource(string(r.Type), r.name(), in, made, reference, options...)
		}
		raw = pulumi.InternalGetRawOutputs(&made.ResourceState)
	case r.External:
		made := &custom{}
		r.made = made
		err = p.ctx.ReadResource(string(r.Type), r.name(), pulumi.ID(p.words.Text(string(r.ID))), in, made, options...)
		raw = pulumi.InternalGetRawOutputs(&made.ResourceState)
	default:
		made := &custom{}
		r.made = made
		var reference string
		if reference, err = p.packageOf(r); err == nil {
			err = p.ctx.RegisterPackageResource(string(r.Type), r.name(), in, made, reference, options...)
		}
		raw = pulumi.InternalGetRawOutputs(&made.ResourceState)
	}
	if err != nil {
		return err
	}
	result, err := internals.UnsafeAwaitOutput(ctx, raw)
	if err != nil {
		return err
	}
	if out, ok := result.Value.(resource.PropertyMap); ok && r.Custom {
		p.words.Learn(r.Out, out)
		if made, ok := r.made.(pulumi.CustomResource); ok {
			id, err := internals.UnsafeAwaitOutput(ctx, made.ID())
			if err != nil {
				return err
			}
			if text, ok := id.Value.(pulumi.ID); ok {
				p.words.Add(string(r.ID), string(text))
			}
		}
	}
	return nil
}
