package frame

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"

	"github.com/strata-platform/strata/internal/local/plugins/frame/types"
)

// moduleFormat is the pattern with which bridged providers shorten tokens: "gcp:sql/user:User" is also "gcp:sql:User".
const moduleFormat = "(.*)(?:/[^/]*)"

// schemaBuilder builds a package schema. It adds each object type on its first use.
type schemaBuilder struct {
	pkg   *Package
	types *types.Cache
	spec  *schema.PackageSpec
}

// buildSchema returns the package schema as JSON.
func buildSchema(pkg *Package, cache *types.Cache) (string, error) {
	b := schemaBuilder{pkg: pkg, types: cache, spec: &schema.PackageSpec{
		Name:        pkg.Name,
		Version:     pkg.Version,
		Description: pkg.Description,
		Meta:        &schema.MetadataSpec{ModuleFormat: moduleFormat},
		Types:       map[string]schema.ComplexTypeSpec{},
		Resources:   map[string]schema.ResourceSpec{},
		Functions:   map[string]schema.FunctionSpec{},
	}}
	for token, r := range pkg.Resources {
		b.spec.Resources[token] = b.resource(r)
	}
	for token, f := range pkg.Functions {
		in, out := b.objectSpec(cache.Inputs(f.Args), nil, nil), b.objectSpec(cache.Inputs(f.Result), nil, f.Secrets)
		b.spec.Functions[token] = schema.FunctionSpec{Inputs: &in, Outputs: &out}
	}
	if pkg.Config != nil {
		config := b.objectSpec(cache.Inputs(pkg.Config), nil, pkg.ConfigSecrets)
		b.spec.Config = schema.ConfigSpec{Variables: config.Properties}
		b.spec.Provider = &schema.ResourceSpec{InputProperties: config.Properties}
	}
	raw, err := json.Marshal(b.spec)
	if err != nil {
		return "", fmt.Errorf("encode schema of %s: %w", pkg.Name, err)
	}
	return string(raw), nil
}

// resource returns the schema of a resource. Inputs with a default or a generated name are not required.
func (b *schemaBuilder) resource(r Resource) schema.ResourceSpec {
	secrets := r.Rules.Secrets()
	in := b.objectSpec(b.types.Inputs(r.Args), r.Rules.Required(), secrets)
	in.Required = slices.DeleteFunc(in.Required, func(k string) bool { return r.Rules[k].Default != nil || k == r.AutoName })
	return schema.ResourceSpec{
		ObjectTypeSpec:  b.objectSpec(b.types.Outputs(r.State), nil, secrets),
		InputProperties: in.Properties,
		RequiredInputs:  in.Required,
	}
}

// objectSpec returns the schema of an object. required and secrets name further required and secret properties.
func (b *schemaBuilder) objectSpec(o *types.Object, required, secrets []string) schema.ObjectTypeSpec {
	spec := schema.ObjectTypeSpec{Type: "object", Properties: map[string]schema.PropertySpec{}}
	for _, name := range slices.Sorted(maps.Keys(o.Fields)) {
		f := o.Fields[name]
		if name == "id" && b.isResource(o) {
			continue
		}
		spec.Properties[name] = schema.PropertySpec{
			TypeSpec: b.typeSpec(f.Type),
			Secret:   slices.Contains(secrets, name),
		}
		if f.Required || slices.Contains(required, name) {
			spec.Required = append(spec.Required, name)
		}
	}
	return spec
}

// isResource reports whether o holds the outputs of a resource, in which "id" is the resource's ID and no property.
func (b *schemaBuilder) isResource(o *types.Object) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(b.pkg.Resources)), func(r Resource) bool {
		return b.types.Outputs(r.State) == o
	})
}

func (b *schemaBuilder) typeSpec(t *types.Type) schema.TypeSpec {
	switch t.Kind {
	case types.KindArray:
		items := b.typeSpec(t.Elem)
		return schema.TypeSpec{Type: "array", Items: &items}
	case types.KindMap:
		values := b.typeSpec(t.Elem)
		return schema.TypeSpec{Type: "object", AdditionalProperties: &values}
	case types.KindAny:
		return schema.TypeSpec{Ref: "pulumi.json#/Any"}
	case types.KindObject:
		return schema.TypeSpec{Ref: "#/types/" + b.typeToken(t.Object)}
	default:
		return schema.TypeSpec{Type: string(t.Kind)}
	}
}

// typeToken returns the token of an object type, and adds the type to the schema on the first call.
func (b *schemaBuilder) typeToken(o *types.Object) string {
	token := fmt.Sprintf("%s:%s/%s:%s", b.pkg.Name, moduleOf(o.Go, b.pkg.Name), o.Go.Name(), o.Go.Name())
	if _, ok := b.spec.Types[token]; !ok {
		b.spec.Types[token] = schema.ComplexTypeSpec{} // a type may refer to itself
		b.spec.Types[token] = schema.ComplexTypeSpec{ObjectTypeSpec: b.objectSpec(o, nil, nil)}
	}
	return token
}

// moduleOf returns the module of t, the path of its package below the SDK's root package. name is the provider's name,
// which is also that of the root package.
func moduleOf(t reflect.Type, name string) string {
	if _, module, ok := strings.Cut(t.PkgPath(), "/go/"+name+"/"); ok {
		return module
	}
	return "index"
}
