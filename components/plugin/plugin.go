// Package plugin serves components as the Pulumi plugin strata, so that programs in YAML and in other languages can create
// them by their type tokens.
package plugin

import (
	"context"
	_ "embed" // for the schema
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/provider"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

const (
	// Name is the name of the plugin and of its package. Pulumi looks for the executable pulumi-resource-strata.
	Name = "strata"
	// Version is the version of the plugin and of its schema.
	Version = "0.1.0"
)

// schema is generated from the types and comments of the components' arguments by a test of this package.
//
//go:embed schema.json
var schema string

// Schema returns the schema of the package as JSON.
func Schema() string { return schema }

// Types returns the type tokens of the components that the plugin serves, sorted.
func Types() []string { return slices.Sorted(maps.Keys(components())) }

// Serve runs the plugin process. It reads the engine's address from the command line, prints its port, and returns when the
// engine has finished.
func Serve(ctx context.Context) error {
	return provider.MainContext(ctx, Name, func(host *provider.HostClient) (pulumirpc.ResourceProviderServer, error) {
		return &server{host: host, components: components()}, nil
	})
}

// server answers the engine. The plugin has no configuration, and no resources except components. It registers the children of a
// component with the engine, so the providers of the program create them: the plugin itself holds no credentials.
type server struct {
	pulumirpc.UnimplementedResourceProviderServer

	host       *provider.HostClient
	components map[string]component
}

// GetPluginInfo returns the version of the plugin.
func (*server) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: Version}, nil
}

// GetSchema returns the schema of the package.
func (*server) GetSchema(context.Context, *pulumirpc.GetSchemaRequest) (*pulumirpc.GetSchemaResponse, error) {
	return &pulumirpc.GetSchemaResponse{Schema: schema}, nil
}

// CheckConfig accepts the configuration that the engine adds itself.
func (*server) CheckConfig(_ context.Context, req *pulumirpc.CheckRequest) (*pulumirpc.CheckResponse, error) {
	return &pulumirpc.CheckResponse{Inputs: req.GetNews()}, nil
}

// DiffConfig reports no change. A new version of the plugin replaces no resource.
func (*server) DiffConfig(context.Context, *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	return &pulumirpc.DiffResponse{Changes: pulumirpc.DiffResponse_DIFF_NONE}, nil
}

// Configure tells the engine to mark secrets, resources and outputs among the arguments, because the constructors of the
// components treat secrets and unknown values differently from plain ones.
func (*server) Configure(context.Context, *pulumirpc.ConfigureRequest) (*pulumirpc.ConfigureResponse, error) {
	return &pulumirpc.ConfigureResponse{AcceptSecrets: true, AcceptResources: true, AcceptOutputs: true, SupportsPreview: true}, nil
}

// Construct creates a component and its children.
func (s *server) Construct(ctx context.Context, req *pulumirpc.ConstructRequest) (*pulumirpc.ConstructResponse, error) {
	known, ok := s.components[req.GetType()]
	if !ok {
		return nil, status.Errorf(codes.InvalidArgument, "the plugin %[2]s has no component type %[1]q: it has %[3]s", req.GetType(), Name, strings.Join(Types(), ", "))
	}
	return provider.Construct(ctx, req, s.host.EngineConn(), known.construct)
}

// Cancel does nothing. The engine ends the plugin process after it.
func (*server) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
}

// component is a component that the plugin serves.
type component struct {
	// args and state are zero values of the structs XArgs and X.
	args, state any
	construct   provider.ConstructFunc
}

// of returns the component of a constructor.
func of[Args, X any, PX interface {
	*X
	pulumi.ComponentResource
}](create func(*pulumi.Context, string, *Args, ...pulumi.ResourceOption) (PX, error),
) component {
	return component{
		args: *new(Args), state: *new(X),
		construct: func(ctx *pulumi.Context, _, name string, inputs provider.ConstructInputs, options pulumi.ResourceOption) (*provider.ConstructResult, error) {
			args := new(Args)
			if err := inputs.CopyTo(args); err != nil {
				return nil, fmt.Errorf("read the properties of %s: %w", name, err)
			}
			made, err := create(ctx, name, args, options)
			if err != nil {
				return nil, err
			}
			return provider.NewConstructResult(made)
		},
	}
}
