package provider

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Serve runs the plugin process: it prints its port on standard output, answers the engine and returns when the engine is
// done with it.
func (pkg Package) Serve(ctx context.Context) error {
	return p.RunProvider(ctx, pkg.Name, pkg.Version, pkg.Provider())
}

// Provider returns the functions that answer the engine.
func (pkg Package) Provider() p.Provider {
	s := &server{pkg: &pkg, types: &typeCache{}}
	s.running, s.cancel = context.WithCancel(context.Background())
	return p.Provider{
		Handshake: func(context.Context, p.HandshakeRequest) (p.HandshakeResponse, error) {
			return p.HandshakeResponse{}, nil
		},
		GetSchema: func(context.Context, p.GetSchemaRequest) (p.GetSchemaResponse, error) {
			text, err := buildSchema(s.pkg, s.types)
			return p.GetSchemaResponse{Schema: text}, err
		},
		Cancel: func(context.Context) error {
			s.cancel()
			return nil
		},
		CheckConfig: s.checkConfig,
		DiffConfig:  s.diffConfig,
		Configure:   s.configure,
		Invoke:      s.invoke,
		Check:       s.check,
		Diff:        s.diff,
		Create:      s.create,
		Read:        s.read,
		Update:      s.update,
		Delete:      s.remove,
	}
}

type server struct {
	pkg   *Package
	types *typeCache

	// running ends when the engine cancels: then every operation ends.
	running context.Context
	cancel  context.CancelFunc
}

// until returns ctx, ended also by the engine's cancellation. The function releases it.
func (s *server) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.running, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// resource returns the resource type of a URN.
func (s *server) resource(urn resource.URN) (Resource, error) {
	token := string(urn.Type())
	r, ok := s.pkg.Resources[token]
	if !ok {
		return r, status.Errorf(codes.InvalidArgument, "resource type %q is not covered by the local %s plugin, which covers: %s",
			token, s.pkg.Name, strings.Join(slices.Sorted(maps.Keys(s.pkg.Resources)), ", "))
	}
	return r, nil
}

func (s *server) checkConfig(_ context.Context, req p.CheckRequest) (p.CheckResponse, error) {
	config := s.configObject()
	inputs := configured(config, req.Inputs.Delete("version", "pluginDownloadURL"))
	resp := p.CheckResponse{Inputs: req.Inputs}
	for _, f := range checkObject(config, nil, inputs, "") {
		f.Reason = fmt.Sprintf("configuration of provider %s: %s", s.pkg.Name, f.Reason)
		resp.Failures = append(resp.Failures, f)
	}
	return resp, nil
}

func (s *server) configObject() *object {
	if s.pkg.Config == nil {
		return &object{}
	}
	return s.types.inputs(s.pkg.Config)
}

func (s *server) diffConfig(_ context.Context, req p.DiffRequest) (p.DiffResponse, error) {
	olds := req.OldInputs
	if olds.Len() == 0 {
		olds = req.State
	}
	return diff(Resource{}, property.Map{}, olds, req.Inputs), nil
}

func (s *server) configure(ctx context.Context, req p.ConfigureRequest) error {
	if s.pkg.Configure == nil {
		return nil
	}
	config := configured(s.configObject(), unmarked(property.New(req.Args)).AsMap())
	if err := s.pkg.Configure(ctx, config); err != nil {
		return oneLine(fmt.Errorf("configure provider %s: %w", s.pkg.Name, err))
	}
	return nil
}

func (s *server) invoke(ctx context.Context, req p.InvokeRequest) (p.InvokeResponse, error) {
	ctx, done := s.until(ctx)
	defer done()
	token := string(req.Token)
	f, ok := s.pkg.Functions[token]
	if !ok {
		return p.InvokeResponse{}, status.Errorf(codes.InvalidArgument,
			"function %q is not covered by the local %s plugin, which covers: %s",
			token, s.pkg.Name, strings.Join(slices.Sorted(maps.Keys(s.pkg.Functions)), ", "))
	}
	if failures := checkObject(s.types.inputs(f.Args), nil, req.Args, ""); len(failures) > 0 {
		return p.InvokeResponse{Failures: failures}, nil
	}
	result, err := f.Call(ctx, req.Args)
	if err != nil {
		return p.InvokeResponse{}, oneLine(fmt.Errorf("call %s: %w", token, err))
	}
	return p.InvokeResponse{Return: markPaths(result, f.Secrets)}, nil
}

func (s *server) check(_ context.Context, req p.CheckRequest) (p.CheckResponse, error) {
	r, err := s.resource(req.Urn)
	if err != nil {
		return p.CheckResponse{}, err
	}
	inputs := defaulted(r, req.Urn.Name(), req.State, req.Inputs)
	failures := checkObject(s.types.inputs(r.Args), r.Required, inputs, "")
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
	return diff(r, req.State, req.OldInputs, req.Inputs), nil
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
	importing := req.Inputs.Len() == 0
	id, live, err := r.Operations.read(ctx, rawRequest{
		urn: req.Urn, id: req.ID, inputs: req.Inputs, state: req.Properties, importing: importing,
	})
	if errors.Is(err, ErrNotFound) {
		return p.ReadResponse{}, nil
	}
	if err != nil {
		return p.ReadResponse{}, failed("read", req.Urn, err)
	}
	in := &typ{kind: kindObject, object: s.types.inputs(r.Args)}
	inputs := property.New(req.Inputs)
	if importing {
		if inputs = asInput(in, property.New(live)); inputs.IsNull() {
			inputs = property.New(property.Map{})
		}
		inputs = property.New(markPaths(inputs.AsMap(), r.Secrets))
	} else {
		inputs = projected(in, inputs, property.New(live))
	}
	// What the service does not tell, such as a key's private part, stays as it was.
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
	state, err := r.Operations.update(ctx, rawRequest{
		urn: req.Urn, id: req.ID, inputs: req.Inputs, old: req.OldInputs, state: req.State, timeoutInSeconds: req.Timeout,
	})
	if err != nil {
		return p.UpdateResponse{}, failed("update", req.Urn, err)
	}
	return p.UpdateResponse{Properties: s.finished(r, req.Inputs, state)}, nil
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

// finished returns the outputs: what the service says, over what the program said, with both kinds of secret marks.
func (s *server) finished(r Resource, inputs, state property.Map) property.Map {
	outputs := &typ{kind: kindObject, object: s.types.outputs(r.State)}
	out := conforming(outputs, merged(property.New(inputs), property.New(state)))
	return markPaths(marked(out, property.New(inputs)).AsMap(), r.Secrets)
}

// unknowns returns the outputs that only the service can tell.
func (s *server) unknowns(r Resource, inputs property.Map) property.Map {
	m := map[string]property.Value{}
	for k := range s.types.outputs(r.State).fields {
		if inputs.Get(k).IsNull() {
			m[k] = property.New(property.Computed)
		}
	}
	return property.NewMap(m)
}

// withoutOldInputs returns the state less what the inputs decide.
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

func markPaths(m property.Map, paths []string) property.Map {
	v := property.New(m)
	for _, path := range paths {
		v = markPath(v, strings.Split(path, "."))
	}
	return v.AsMap()
}

// warn says which inputs have no effect, so that nobody takes them for being in force.
func warn(ctx context.Context, r Resource, inputs property.Map) {
	if paths := withoutEffect(r.Operations.understood, property.New(inputs), ""); len(paths) > 0 {
		p.GetLogger(ctx).Warningf("accepted without effect, not emulated: %s", strings.Join(paths, ", "))
	}
}

func failed(verb string, urn resource.URN, err error) error {
	return oneLine(fmt.Errorf("%s %s %q: %w", verb, urn.Type(), urn.Name(), err))
}

// lineError is an error whose text is one line.
type lineError struct{ err error }

func (e lineError) Error() string { return strings.Join(strings.Fields(e.err.Error()), " ") }
func (e lineError) Unwrap() error { return e.err }

func oneLine(err error) error { return lineError{err} }
