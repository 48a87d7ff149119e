package frame

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/strata-platform/strata/internal/local/plugins/frame/types"
	"github.com/strata-platform/strata/internal/local/plugins/frame/value"
)

// Serve runs the plugin process. It prints its port on standard output, serves the engine and returns when the engine
// has finished.
func (pkg Package) Serve(ctx context.Context) error {
	name, version := pkg.identity()
	return p.RunProvider(ctx, name, version, pkg.Provider())
}

// Provider returns the functions that serve the engine.
func (pkg Package) Provider() p.Provider {
	s := &server{pkg: &pkg, types: &types.Cache{}}
	s.running, s.cancel = context.WithCancel(context.Background())
	return p.Provider{
		Handshake: func(context.Context, p.HandshakeRequest) (p.HandshakeResponse, error) {
			return p.HandshakeResponse{}, nil
		},
		Parameterize: s.parameterize,
		GetSchema:    s.schema,
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

// server serves one plugin process.
type server struct {
	pkg   *Package
	types *types.Cache
	// selected is true after a parameter has selected the package.
	selected atomic.Bool

	// Cancel cancels running, the parent of the contexts of all operations.
	running context.Context
	cancel  context.CancelFunc
}

// until returns a context that ends with ctx or when the engine cancels the plugin, and the function that releases it.
func (s *server) until(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.running, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// resource returns the description of the resource type of a URN.
func (s *server) resource(urn resource.URN) (Resource, error) {
	token := string(urn.Type())
	r, ok := s.pkg.Resources[token]
	if !ok {
		return r, status.Errorf(codes.InvalidArgument, "resource type %q is not covered by the local %s plugin, which covers: %s",
			token, s.pkg.Name, strings.Join(slices.Sorted(maps.Keys(s.pkg.Resources)), ", "))
	}
	return r, nil
}

// checkConfig checks the provider's configuration. The engine adds version and pluginDownloadURL to every
// configuration.
func (s *server) checkConfig(_ context.Context, req p.CheckRequest) (p.CheckResponse, error) {
	config := s.configObject()
	inputs := types.ParseConfig(config, req.Inputs.Delete("version", "pluginDownloadURL"))
	resp := p.CheckResponse{Inputs: req.Inputs}
	for _, f := range types.Check(config, nil, inputs) {
		f.Reason = fmt.Sprintf("configuration of provider %s: %s", s.pkg.Name, f.Reason)
		resp.Failures = append(resp.Failures, f)
	}
	return resp, nil
}

func (s *server) configObject() *types.Object {
	if s.pkg.Config == nil {
		return &types.Object{}
	}
	return s.types.Inputs(s.pkg.Config)
}

// diffConfig compares the configurations of a provider. An old engine sends no old inputs, only the state.
func (s *server) diffConfig(ctx context.Context, req p.DiffRequest) (p.DiffResponse, error) {
	olds := req.OldInputs
	if olds.Len() == 0 {
		olds = req.State
	}
	return diff(ctx, Resource{}, s.configObject(), property.Map{}, olds, req.Inputs), nil
}

// configure passes the configuration to the package in plain form: operations have no use for secret marks.
func (s *server) configure(ctx context.Context, req p.ConfigureRequest) error {
	if s.pkg.Configure == nil {
		return nil
	}
	config := types.ParseConfig(s.configObject(), value.Unmark(property.New(req.Args)).AsMap())
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
	if failures := types.Check(s.types.Inputs(f.Args), nil, req.Args); len(failures) > 0 {
		return p.InvokeResponse{Failures: failures}, nil
	}
	result, err := f.Call(ctx, req.Args)
	if err != nil {
		return p.InvokeResponse{}, oneLine(fmt.Errorf("call %s: %w", token, err))
	}
	return p.InvokeResponse{Return: value.MarkPaths(result, f.Secrets)}, nil
}

// warn warns about the inputs that have no effect, so that nobody relies on them.
func warn(ctx context.Context, r Resource, inputs property.Map) {
	if paths := r.Operations.understood.Ignored(property.New(inputs)); len(paths) > 0 {
		p.GetLogger(ctx).Warningf("accepted without effect, not emulated: %s", strings.Join(paths, ", "))
	}
}

// failed returns an error that names the operation and the resource, in one line.
func failed(verb string, urn resource.URN, err error) error {
	return oneLine(fmt.Errorf("%s %s %q: %w", verb, urn.Type(), urn.Name(), err))
}

// lineError is an error whose text is in one line, because the engine shows errors in a table.
type lineError struct{ err error }

func (e lineError) Error() string { return strings.Join(strings.Fields(e.err.Error()), " ") }

func (e lineError) Unwrap() error { return e.err }

func oneLine(err error) error { return lineError{err} }
