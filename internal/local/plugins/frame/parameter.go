package frame

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/blang/semver"
	p "github.com/pulumi/pulumi-go-provider"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Parameter makes a package the parameterized form of another plugin, which serves it. A program's SDK names that plugin and
// a value; `pulumi package add` names it and arguments.
type Parameter struct {
	// Plugin and Version identify the plugin that the engine starts. Both are required.
	Plugin, Version string
	// Value and Args return an error unless they select the package. Both are required.
	Value func(value []byte) error
	Args  func(args []string) error
}

// identity returns the name and the version of the plugin process.
func (pkg Package) identity() (name, version string) {
	if pkg.Parameter != nil {
		return pkg.Parameter.Plugin, pkg.Parameter.Version
	}
	return pkg.Name, pkg.Version
}

// parameterize selects the package. Until then, the plugin serves nothing except its own, empty schema.
func (s *server) parameterize(_ context.Context, req p.ParameterizeRequest) (p.ParameterizeResponse, error) {
	parameter := s.pkg.Parameter
	if parameter == nil {
		return p.ParameterizeResponse{}, status.Errorf(codes.Unimplemented, "the local %s plugin has no parameters", s.pkg.Name)
	}
	if s.selected.Load() {
		return p.ParameterizeResponse{}, status.Errorf(codes.FailedPrecondition, "the local %s plugin already serves %s", parameter.Plugin, s.pkg.Name)
	}
	err := errors.New("it has neither a value nor arguments")
	switch {
	case req.Value != nil:
		err = parameter.Value(req.Value.Value)
	case req.Args != nil:
		err = parameter.Args(req.Args.Args)
	}
	if err != nil {
		return p.ParameterizeResponse{}, oneLine(fmt.Errorf("parameter of plugin %s: %w", parameter.Plugin, err))
	}
	version, err := semver.Parse(s.pkg.Version)
	if err != nil {
		return p.ParameterizeResponse{}, fmt.Errorf("version of package %s: %w", s.pkg.Name, err)
	}
	s.selected.Store(true)
	return p.ParameterizeResponse{Name: s.pkg.Name, Version: version}, nil
}

// schema returns the schema of the package, or before it is selected the one of the plugin.
func (s *server) schema(context.Context, p.GetSchemaRequest) (p.GetSchemaResponse, error) {
	parameter := s.pkg.Parameter
	if parameter != nil && !s.selected.Load() {
		text, err := buildSchema(&Package{Name: parameter.Plugin, Version: parameter.Version, Description: s.pkg.Description}, s.types)
		return p.GetSchemaResponse{Schema: text}, err
	}
	if len(s.pkg.Schema) > 0 {
		return p.GetSchemaResponse{Schema: strings.TrimSpace(string(s.pkg.Schema))}, nil
	}
	text, err := buildSchema(s.pkg, s.types)
	return p.GetSchemaResponse{Schema: text}, err
}
