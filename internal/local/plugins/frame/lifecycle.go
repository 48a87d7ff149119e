package frame

import (
	"context"
	"errors"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/frame/types"
	"github.com/strata-platform/strata/internal/local/plugins/frame/value"
)

// check checks and completes the inputs of a program. The rules may rely on the types, and the resource's own check on
// the rules, so each step runs only if the previous one finds no failure.
func (s *server) check(_ context.Context, req p.CheckRequest) (p.CheckResponse, error) {
	r, err := s.resource(req.Urn)
	if err != nil {
		return p.CheckResponse{}, err
	}
	inputs, err := completed(r, req.Urn.Name(), req.RandomSeed, req.State, req.Inputs)
	if err != nil {
		return p.CheckResponse{}, failed("check", req.Urn, err)
	}
	failures := types.Check(s.types.Inputs(r.Args), r.Rules.Required(), inputs)
	if len(failures) == 0 {
		failures = r.Rules.Check(inputs)
	}
	if len(failures) == 0 {
		own, err := r.Operations.check(inputs)
		if err != nil {
			return p.CheckResponse{}, failed("check", req.Urn, err)
		}
		for _, f := range own {
			failures = append(failures, p.CheckFailure{Property: f.Path, Reason: f.Reason})
		}
	}
	return p.CheckResponse{Inputs: inputs, Failures: failures}, nil
}

func (s *server) diff(ctx context.Context, req p.DiffRequest) (p.DiffResponse, error) {
	r, err := s.resource(req.Urn)
	if err != nil {
		return p.DiffResponse{}, err
	}
	ctx, done := s.until(ctx)
	defer done()
	return diff(ctx, r, s.types.Inputs(r.Args), req.State, req.OldInputs, req.Inputs), nil
}

// create creates an object. In a preview it only predicts the outputs. If the object exists but is incomplete, it
// returns the partial state, so that the engine does not forget the object.
func (s *server) create(ctx context.Context, req p.CreateRequest) (p.CreateResponse, error) {
	ctx, done := s.until(ctx)
	defer done()
	r, err := s.resource(req.Urn)
	if err != nil {
		return p.CreateResponse{}, err
	}
	if req.DryRun {
		return p.CreateResponse{Properties: s.outputs(r, req.Properties, s.unknowns(r, req.Properties))}, nil
	}
	warn(ctx, r, req.Properties)
	id, state, err := r.Operations.create(ctx, rawRequest{urn: req.Urn, inputs: req.Properties, timeoutInSeconds: req.Timeout})
	resp := p.CreateResponse{ID: id}
	if err != nil {
		err = failed("create", req.Urn, err)
		if id == "" {
			return resp, err
		}
		resp.PartialState = &p.InitializationFailed{Reasons: []string{err.Error()}}
	}
	resp.Properties = s.outputs(r, req.Properties, state)
	return resp, err
}

// read refreshes or imports an object. A refresh reduces the service's state to the inputs that the program sets; an
// import takes all inputs from it.
func (s *server) read(ctx context.Context, req p.ReadRequest) (p.ReadResponse, error) {
	ctx, done := s.until(ctx)
	defer done()
	r, err := s.resource(req.Urn)
	if err != nil {
		return p.ReadResponse{}, err
	}
	importing := req.Inputs.Len() == 0 && req.Properties.Len() == 0
	id, live, err := r.Operations.read(ctx, rawRequest{
		urn: req.Urn, id: req.ID, inputs: req.Inputs, state: req.Properties, importing: importing,
	})
	if errors.Is(err, ErrNotFound) {
		return p.ReadResponse{}, nil
	}
	if err != nil {
		return p.ReadResponse{}, failed("read", req.Urn, err)
	}
	live = r.Rules.Order(property.New(live), property.New(req.Properties)).AsMap()
	in := &types.Type{Kind: types.KindObject, Object: s.types.Inputs(r.Args)}
	inputs := property.New(req.Inputs)
	if importing {
		if inputs = asInput(in, r.Rules, "", property.New(live)); inputs.IsNull() {
			inputs = property.New(property.Map{})
		}
		// The program's inputs will have the defaults, so that without them every import would show changes.
		known := r.Rules.AddDefaults(inputs.AsMap())
		inputs = property.New(value.MarkPaths(known, r.Rules.Secrets()))
	} else {
		inputs = r.Rules.Respell(types.Project(in, inputs, property.New(live)), inputs)
	}
	// Values that the service returns only once, such as a private key, keep their old value.
	for k, v := range req.Properties.All {
		if _, ok := live.GetOk(k); !ok && !value.Internal(k) {
			live = live.Set(k, v)
		}
	}
	return p.ReadResponse{ID: id, Inputs: inputs.AsMap(), Properties: s.outputs(r, inputs.AsMap(), live)}, nil
}

// update changes an object. In a preview it only predicts the outputs.
func (s *server) update(ctx context.Context, req p.UpdateRequest) (p.UpdateResponse, error) {
	ctx, done := s.until(ctx)
	defer done()
	r, err := s.resource(req.Urn)
	if err != nil {
		return p.UpdateResponse{}, err
	}
	if req.DryRun {
		return p.UpdateResponse{Properties: s.outputs(r, req.Inputs, s.withoutOldInputs(req))}, nil
	}
	warn(ctx, r, req.Inputs)
	raw := rawRequest{
		urn: req.Urn, id: req.ID, inputs: req.Inputs, old: req.OldInputs, state: req.State, timeoutInSeconds: req.Timeout,
	}
	if raw, err = s.current(ctx, r, raw); err != nil {
		return p.UpdateResponse{}, failed("update", req.Urn, err)
	}
	state, err := r.Operations.update(ctx, raw)
	if err != nil {
		return p.UpdateResponse{}, failed("update", req.Urn, err)
	}
	return p.UpdateResponse{Properties: s.outputs(r, req.Inputs, state)}, nil
}

// current replaces the old inputs and the state of an update by those of the object itself, because an earlier run may
// have been interrupted, or somebody may have changed the object. Computed inputs that the program does not set get the
// object's values in the old and in the new inputs.
func (s *server) current(ctx context.Context, r Resource, raw rawRequest) (rawRequest, error) {
	known := raw
	known.inputs = raw.old
	_, live, err := r.Operations.read(ctx, known)
	if errors.Is(err, ErrNotFound) {
		return raw, nil // the update reports or recreates the missing object
	}
	if err != nil {
		return raw, err
	}
	in := &types.Type{Kind: types.KindObject, Object: s.types.Inputs(r.Args)}
	now := r.Rules.Order(property.New(live), property.New(raw.old))
	raw.old = r.Rules.Fill(types.Project(in, property.New(raw.old), now), now).AsMap()
	raw.inputs = r.Rules.Fill(property.New(raw.inputs), now).AsMap()
	raw.state = value.Merge(property.New(raw.state), property.New(live)).AsMap()
	return raw, nil
}

// remove deletes an object. A missing object is no error, so that an interrupted deletion can run again.
func (s *server) remove(ctx context.Context, req p.DeleteRequest) error {
	ctx, done := s.until(ctx)
	defer done()
	r, err := s.resource(req.Urn)
	if err != nil {
		return err
	}
	err = r.Operations.remove(ctx, rawRequest{
		urn: req.Urn, id: req.ID, inputs: req.OldInputs, state: req.Properties, timeoutInSeconds: req.Timeout,
	})
	if err == nil || errors.Is(err, ErrNotFound) {
		return nil
	}
	return failed("delete", req.Urn, err)
}

// outputs returns the outputs: the service's values, completed with the program's inputs, with the secret marks of the
// inputs and of the rules.
func (s *server) outputs(r Resource, inputs, state property.Map) property.Map {
	t := &types.Type{Kind: types.KindObject, Object: s.types.Outputs(r.State)}
	live := r.Rules.Order(property.New(state), property.New(inputs))
	out := types.Prune(t, value.Merge(property.New(inputs), live))
	return value.MarkPaths(value.MarkLike(out, property.New(inputs)).AsMap(), r.Rules.Secrets())
}

// unknowns returns an unknown value for each output that the inputs do not set.
func (s *server) unknowns(r Resource, inputs property.Map) property.Map {
	m := map[string]property.Value{}
	for k := range s.types.Outputs(r.State).Fields {
		if inputs.Get(k).IsNull() {
			m[k] = property.New(property.Computed)
		}
	}
	return property.NewMap(m)
}

// withoutOldInputs returns the state without the values of the inputs that the update changes.
func (s *server) withoutOldInputs(req p.UpdateRequest) property.Map {
	state := req.State
	for k := range req.OldInputs.All {
		if _, kept := req.Inputs.GetOk(k); !kept || !value.Same(req.OldInputs.Get(k), req.Inputs.Get(k)) {
			state = state.Delete(k)
		}
	}
	for k, v := range req.Inputs.All {
		if !value.Same(v, req.OldInputs.Get(k)) {
			state = state.Delete(k)
		}
	}
	return state
}
