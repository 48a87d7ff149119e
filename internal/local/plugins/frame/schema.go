package frame

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
)

// moduleFormat is the pattern by which bridged providers shorten tokens: "gcp:sql/user:User" is also "gcp:sql:User".
const moduleFormat = "(.*)(?:/[^/]*)"

// schemaBuilder collects the types that resources and functions use.
type schemaBuilder struct {
	pkg   *Package
	types *typeCache
	spec  *schema.PackageSpec
}

// buildSchema returns the package schema as JSON.
func buildSchema(pkg *Package, types *typeCache) (string, error) {
	b := schemaBuilder{pkg: pkg, types: types, spec: &schema.PackageSpec{
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
		in, out := b.objectSpec(types.inputs(f.Args), nil, nil), b.objectSpec(types.inputs(f.Result), nil, f.Secrets)
		b.spec.Functions[token] = schema.FunctionSpec{Inputs: &in, Outputs: &out}
	}
	if pkg.Config != nil {
		config := b.objectSpec(types.inputs(pkg.Config), nil, pkg.ConfigSecrets)
		b.spec.Config = schema.ConfigSpec{Variables: config.Properties}
		b.spec.Provider = &schema.ResourceSpec{InputProperties: config.Properties}
	}
	raw, err := json.Marshal(b.spec)
	if err != nil {
		return "", fmt.Errorf("encode schema of %s: %w", pkg.Name, err)
	}
	return string(raw), nil
}

func (b *schemaBuilder) resource(r Resource) schema.ResourceSpec {
	secrets := r.Rules.secrets()
	in := b.objectSpec(b.types.inputs(r.Args), r.Rules.required(), secrets)
	in.Required = slices.DeleteFunc(in.Required, func(k string) bool { return r.Rules[k].Default != nil || k == r.AutoName })
	return schema.ResourceSpec{
		ObjectTypeSpec:  b.objectSpec(b.types.outputs(r.State), nil, secrets),
		InputProperties: in.Properties,
		RequiredInputs:  in.Required,
	}
}

func (b *schemaBuilder) objectSpec(o *object, required, secrets []string) schema.ObjectTypeSpec {
	spec := schema.ObjectTypeSpec{Type: "object", Properties: map[string]schema.PropertySpec{}}
	for _, name := range slices.Sorted(maps.Keys(o.fields)) {
		f := o.fields[name]
		if name == "id" && b.isResource(o) {
			continue
		}
		spec.Properties[name] = schema.PropertySpec{
			TypeSpec: b.typeSpec(f.typ),
			Secret:   slices.Contains(secrets, name),
		}
		if f.required || slices.Contains(required, name) {
			spec.Required = append(spec.Required, name)
		}
	}
	return spec
}

func (b *schemaBuilder) isResource(o *object) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(b.pkg.Resources)), func(r Resource) bool {
		return b.types.outputs(r.State) == o
	})
}

func (b *schemaBuilder) typeSpec(t *typ) schema.TypeSpec {
	switch t.kind {
	case kindArray:
		items := b.typeSpec(t.elem)
		return schema.TypeSpec{Type: "array", Items: &items}
	case kindMap:
		values := b.typeSpec(t.elem)
		return schema.TypeSpec{Type: "object", AdditionalProperties: &values}
	case kindAny:
		return schema.TypeSpec{Ref: "pulumi.json#/Any"}
	case kindObject:
		return schema.TypeSpec{Ref: "#/types/" + b.typeToken(t.object)}
	default:
		return schema.TypeSpec{Type: string(t.kind)}
	}
}

// typeToken returns the token of an object type. The first call for a type adds it to the schema.
func (b *schemaBuilder) typeToken(o *object) string {
	token := fmt.Sprintf("%s:%s/%s:%s", b.pkg.Name, moduleOf(o.goType, b.pkg.Name), o.goType.Name(), o.goType.Name())
	if _, ok := b.spec.Types[token]; !ok {
		b.spec.Types[token] = schema.ComplexTypeSpec{} // a type may refer to itself
		b.spec.Types[token] = schema.ComplexTypeSpec{ObjectTypeSpec: b.objectSpec(o, nil, nil)}
	}
	return token
}

// moduleOf returns the folder of t below the SDK's root package, which has the provider's name.
func moduleOf(t reflect.Type, name string) string {
	if _, module, ok := strings.Cut(t.PkgPath(), "/go/"+name+"/"); ok {
		return module
	}
	return "index"
}
