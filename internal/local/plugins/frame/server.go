package frame

import (
	"context"
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

// Serve runs the plugin process. It prints its port on standard output, answers the engine and returns when the engine
// is done.
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

	// The engine's cancellation ends running, and with it every operation.
	running context.Context
	cancel  context.CancelFunc
}

// until returns a context that ends with ctx or with the engine's cancellation, and the function that releases it.
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
	return diff(Resource{}, s.configObject(), property.Map{}, olds, req.Inputs), nil
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

func markPaths(m property.Map, paths []string) property.Map {
	v := property.New(m)
	for _, path := range paths {
		v = markPath(v, strings.Split(path, "."))
	}
	return v.AsMap()
}

// warn logs the inputs that have no effect, so that nobody relies on them.
func warn(ctx context.Context, r Resource, inputs property.Map) {
	if paths := withoutEffect(r.Operations.understood, property.New(inputs), ""); len(paths) > 0 {
		p.GetLogger(ctx).Warningf("accepted without effect, not emulated: %s", strings.Join(paths, ", "))
	}
}

func failed(verb string, urn resource.URN, err error) error {
	return oneLine(fmt.Errorf("%s %s %q: %w", verb, urn.Type(), urn.Name(), err))
}

// lineError is an error with its text in one line.
type lineError struct{ err error }

func (e lineError) Error() string { return strings.Join(strings.Fields(e.err.Error()), " ") }
func (e lineError) Unwrap() error { return e.err }

func oneLine(err error) error { return lineError{err} }
