package plugin

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	pschema "github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

var update = flag.Bool("update", false, "write the schema")

// TestTheSchemaDescribesTheArgsAndTheComponents generates the schema from the Go types and their comments.
func TestTheSchemaDescribesTheArgsAndTheComponents(t *testing.T) {
	g := &generator{t: t, docs: map[string]map[string]typeDoc{}, spec: pschema.PackageSpec{
		Name: Name, Version: Version, DisplayName: "Strata",
		Description: "The components of Strata for programs in YAML and in other languages.",
		License:     "Apache-2.0",
		Types:       map[string]pschema.ComplexTypeSpec{}, Resources: map[string]pschema.ResourceSpec{},
	}}
	for token, c := range components() {
		g.owner = token
		g.spec.Resources[token] = g.resource(c)
	}
	want, err := json.MarshalIndent(g.spec, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile("schema.json", want, 0o644); err != nil { //nolint:gosec // a source file
			t.Fatal(err)
		}
		return
	}
	if string(want) != Schema() {
		t.Error("schema.json differs from the Go types: run go test ./components/plugin -run TestThe -update")
	}
}

func TestPulumiAcceptsTheSchema(t *testing.T) {
	var spec pschema.PackageSpec
	if err := json.Unmarshal([]byte(Schema()), &spec); err != nil {
		t.Fatal(err)
	}
	_, problems, err := pschema.BindSpec(spec, struct{ pschema.Loader }{}, pschema.ValidationOptions{})
	if err != nil || problems.HasErrors() {
		t.Error(err, problems)
	}
}

type typeDoc struct {
	text   string
	fields map[string]string
}

// generator derives the schema from Go types and from the comments in their source.
type generator struct {
	t    *testing.T
	docs map[string]map[string]typeDoc // by the package's path and the type's name
	spec pschema.PackageSpec

	// owner is the token of the component. The tokens of the types in its arguments begin with it.
	owner string
}

func (g *generator) resource(c component) pschema.ResourceSpec {
	args, state := reflect.TypeOf(c.args), reflect.TypeOf(c.state)
	inputs, required := g.properties(args)
	outputs, _ := g.properties(state)
	made := pschema.ResourceSpec{InputProperties: inputs, RequiredInputs: required, IsComponent: true}
	made.Description, made.Properties = g.doc(state).text, outputs
	for name := range outputs {
		made.Required = append(made.Required, name)
	}
	slices.Sort(made.Required)
	return made
}

// properties returns the properties of a struct, and the names of the required ones. Each exported field of a struct of
// arguments is a property.
func (g *generator) properties(of reflect.Type) (map[string]pschema.PropertySpec, []string) {
	properties, required := map[string]pschema.PropertySpec{}, []string(nil)
	comments := g.doc(of).fields
	for field := range of.Fields() {
		if !field.IsExported() || field.Anonymous {
			continue
		}
		name, option, _ := strings.Cut(field.Tag.Get("pulumi"), ",")
		if name == "" {
			g.t.Errorf("field %s of %s has no tag", field.Name, of)
			continue
		}
		comment := comments[field.Name]
		if isArgs := !strings.Contains(field.Type.Name(), "Output"); isArgs && strings.Contains(comment, "Required.") == (option == "optional") {
			g.t.Errorf("field %s of %s: either its comment says Required., or its tag says optional", field.Name, of)
		}
		if option != "optional" {
			required = append(required, name)
		}
		properties[name] = pschema.PropertySpec{TypeSpec: g.typeOf(field.Type), Description: comment}
	}
	slices.Sort(required)
	return properties, required
}

// typeOf returns the schema of a Go type. A value that is not an input must be known before the component exists: it is plain.
func (g *generator) typeOf(of reflect.Type) pschema.TypeSpec {
	text := pschema.TypeSpec{Type: "string"}
	switch of {
	case reflect.TypeFor[pulumi.StringInput](), reflect.TypeFor[pulumi.StringOutput]():
		return text
	case reflect.TypeFor[pulumi.IntInput]():
		return pschema.TypeSpec{Type: "integer"}
	case reflect.TypeFor[pulumi.BoolInput]():
		return pschema.TypeSpec{Type: "boolean"}
	case reflect.TypeFor[pulumi.StringMapInput]():
		return pschema.TypeSpec{Type: "object", AdditionalProperties: &text}
	case reflect.TypeFor[pulumi.StringArrayInput](), reflect.TypeFor[pulumi.StringArrayOutput]():
		return pschema.TypeSpec{Type: "array", Items: &text}
	}
	plain := pschema.TypeSpec{Plain: true}
	switch of.Kind() {
	case reflect.String:
		plain.Type = "string"
	case reflect.Int:
		plain.Type = "integer"
	case reflect.Bool:
		plain.Type = "boolean"
	case reflect.Pointer:
		return g.typeOf(of.Elem())
	case reflect.Slice:
		items := g.typeOf(of.Elem())
		plain.Type, plain.Items = "array", &items
	case reflect.Map:
		items := g.typeOf(of.Elem())
		plain.Type, plain.AdditionalProperties = "object", &items
	case reflect.Struct:
		token := g.owner + of.Name()
		properties, required := g.properties(of)
		g.spec.Types[token] = pschema.ComplexTypeSpec{ObjectTypeSpec: pschema.ObjectTypeSpec{
			Type: "object", Description: g.doc(of).text, Properties: properties, Required: required,
		}}
		plain.Ref = "#/types/" + token
	default:
		g.t.Errorf("type %s has no equivalent in a schema", of)
	}
	return plain
}

// doc returns the comments of a struct from its source.
func (g *generator) doc(of reflect.Type) typeDoc {
	if g.docs[of.PkgPath()] == nil {
		g.docs[of.PkgPath()] = g.parse(filepath.Join("..", "..", strings.TrimPrefix(of.PkgPath(), "github.com/strata-platform/strata/")))
	}
	return g.docs[of.PkgPath()][of.Name()]
}

func (g *generator) parse(dir string) map[string]typeDoc {
	g.t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		g.t.Fatal(err)
	}
	set, parsed := token.NewFileSet(), []*ast.File(nil)
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			g.t.Fatal(err)
		}
		parsed = append(parsed, file)
	}
	pkg, err := doc.NewFromFiles(set, parsed, dir)
	if err != nil {
		g.t.Fatal(err)
	}
	found := map[string]typeDoc{}
	for _, each := range pkg.Types {
		entry := typeDoc{text: oneLine(each.Doc), fields: map[string]string{}}
		if shape, ok := each.Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType); ok {
			for _, field := range shape.Fields.List {
				for _, name := range field.Names {
					entry.fields[name.Name] = oneLine(field.Doc.Text())
				}
			}
		}
		found[each.Name] = entry
	}
	return found
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
