package frame

import (
	"context"
	"errors"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

func (s *server) check(_ context.Context, req p.CheckRequest) (p.CheckResponse, error) {
	r, err := s.resource(req.Urn)
	if err != nil {
		return p.CheckResponse{}, err
	}
	inputs, err := completed(r, req.Urn.Name(), req.RandomSeed, req.State, req.Inputs)
	if err != nil {
		return p.CheckResponse{}, failed("check", req.Urn, err)
	}
	failures := checkObject(s.types.inputs(r.Args), r.Rules.required(), inputs, "")
	if len(failures) == 0 {
		failures = r.Rules.check("", "", property.New(inputs), inputs)
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

func (s *server) diff(_ context.Context, req p.DiffRequest) (p.DiffResponse, error) {
	r, err := s.resource(req.Urn)
	if err != nil {
		return p.DiffResponse{}, err
	}
	return diff(r, s.types.inputs(r.Args), req.State, req.OldInputs, req.Inputs), nil
}

func (s *server) create(ctx context.Context, req p.CreateRequest) (p.CreateResponse, error) {
	ctx, done := s.until(ctx)
	defer done()
	r, err := s.resource(req.Urn)
	if err != nil {
		return p.CreateResponse{}, err
	}
	if req.DryRun {
		return p.CreateResponse{Properties: s.finished(r, req.Properties, s.unknowns(r, req.Properties))}, nil
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
	resp.Properties = s.finished(r, req.Properties, state)
	return resp, err
}

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
	live = r.Rules.ordered("", property.New(live), property.New(req.Properties)).AsMap()
	in := &typ{kind: kindObject, object: s.types.inputs(r.Args)}
	inputs := property.New(req.Inputs)
	if importing {
		if inputs = asInput(in, r.Rules, "", property.New(live)); inputs.IsNull() {
			inputs = property.New(property.Map{})
		}
		known := r.Rules.withDefaults("", inputs.AsMap(), inputs.AsMap()) // so that the program's own defaults are no change
		inputs = property.New(markPaths(known, r.Rules.secrets()))
	} else {
		inputs = r.Rules.spelled("", projected(in, inputs, property.New(live)), inputs)
	}
	// Values that the service does not return, such as the private part of a key, keep their old value.
	for k, v := range req.Properties.All {
		if _, ok := live.GetOk(k); !ok && !internalKey(k) {
			live = live.Set(k, v)
		}
	}
	return p.ReadResponse{ID: id, Inputs: inputs.AsMap(), Properties: s.finished(r, inputs.AsMap(), live)}, nil
}

func (s *server) update(ctx context.Context, req p.UpdateRequest) (p.UpdateResponse, error) {
	ctx, done := s.until(ctx)
	defer done()
	r, err := s.resource(req.Urn)
	if err != nil {
		return p.UpdateResponse{}, err
	}
	if req.DryRun {
		return p.UpdateResponse{Properties: s.finished(r, req.Inputs, s.withoutOldInputs(req))}, nil
	}
	warn(ctx, r, req.Inputs)
	raw := rawRequest{
		urn: req.Urn, id: req.ID, inputs: req.Inputs, old: req.OldInputs, state: req.State, timeoutInSeconds: req.Timeout,
	}
	if raw, err = s.asItIs(ctx, r, raw); err != nil {
		return p.UpdateResponse{}, failed("update", req.Urn, err)
	}
	state, err := r.Operations.update(ctx, raw)
	if err != nil {
		return p.UpdateResponse{}, failed("update", req.Urn, err)
	}
	return p.UpdateResponse{Properties: s.finished(r, req.Inputs, state)}, nil
}

// asItIs reads the old inputs and the state from the object itself, because an earlier run may have been interrupted,
// or somebody may have changed the object since. Inputs that the program leaves to the service get the object's value
// in both the old and the new inputs.
func (s *server) asItIs(ctx context.Context, r Resource, raw rawRequest) (rawRequest, error) {
	known := raw
	known.inputs = raw.old
	_, live, err := r.Operations.read(ctx, known)
	if errors.Is(err, ErrNotFound) {
		return raw, nil // the update reports the missing object, or creates it again
	}
	if err != nil {
		return raw, err
	}
	in := &typ{kind: kindObject, object: s.types.inputs(r.Args)}
	now := r.Rules.ordered("", property.New(live), property.New(raw.old))
	raw.old = r.Rules.filled("", projected(in, property.New(raw.old), now), now).AsMap()
	raw.inputs = r.Rules.filled("", property.New(raw.inputs), now).AsMap()
	raw.state = merged(property.New(raw.state), property.New(live)).AsMap()
	return raw, nil
}

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

// finished returns the outputs: the service's values over the program's inputs, with the secret marks of the inputs
// and of the rules.
func (s *server) finished(r Resource, inputs, state property.Map) property.Map {
	outputs := &typ{kind: kindObject, object: s.types.outputs(r.State)}
	live := r.Rules.ordered("", property.New(state), property.New(inputs))
	out := conforming(outputs, merged(property.New(inputs), live))
	return markPaths(marked(out, property.New(inputs)).AsMap(), r.Rules.secrets())
}

// unknowns returns the outputs that only the service determines, as unknown values.
func (s *server) unknowns(r Resource, inputs property.Map) property.Map {
	m := map[string]property.Value{}
	for k := range s.types.outputs(r.State).fields {
		if inputs.Get(k).IsNull() {
			m[k] = property.New(property.Computed)
		}
	}
	return property.NewMap(m)
}

// withoutOldInputs returns the state without the inputs that the update changes.
func (s *server) withoutOldInputs(req p.UpdateRequest) property.Map {
	state := req.State
	for k := range req.OldInputs.All {
		if _, kept := req.Inputs.GetOk(k); !kept || !same(req.OldInputs.Get(k), req.Inputs.Get(k)) {
			state = state.Delete(k)
		}
	}
	for k, v := range req.Inputs.All {
		if !same(v, req.OldInputs.Get(k)) {
			state = state.Delete(k)
		}
	}
	return state
}
