package gcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"

	"github.com/strata-platform/strata/internal/local/plugins/gcp"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

func TestVersionIsTheVersionOfTheSDK(t *testing.T) {
	gomod, err := os.ReadFile(filepath.Join(toolchaintest.Root(t), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "github.com/pulumi/pulumi-gcp/sdk/v7 v" + gcp.Version + "\n"; !strings.Contains(string(gomod), want) {
		t.Errorf("go.mod does not require the SDK at the plugin's version %s", gcp.Version)
	}
}

func TestSchema(t *testing.T) {
	resp, err := gcp.Package().Provider().GetSchema(t.Context(), p.GetSchemaRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var spec schema.PackageSpec
	if err := json.Unmarshal([]byte(resp.Schema), &spec); err != nil {
		t.Fatal(err)
	}
	pkg, err := schema.ImportSpec(spec, nil, struct{ schema.Loader }{}, schema.ValidationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(pkg.Resources) != 15 || len(pkg.Functions) != 2 || len(pkg.Config) < 100 {
		t.Errorf("%d resources, %d functions, %d configuration values", len(pkg.Resources), len(pkg.Functions), len(pkg.Config))
	}
	// All paths in the rules must be existing properties.
	for token, r := range gcp.Package().Resources {
		known, ok := pkg.GetResource(token)
		if !ok {
			t.Errorf("%s is not in the schema", token)
			continue
		}
		for path, rule := range r.Rules {
			if !has(known.InputProperties, path) && !has(known.Properties, path) {
				t.Errorf("%s has a rule for %q, which is not one of its properties", token, path)
			}
			for _, other := range rule.Excludes {
				if !has(known.InputProperties, other) {
					t.Errorf("%s: %s excludes %q, which is not an input", token, path, other)
				}
			}
		}
		for _, path := range r.Identity {
			if !has(known.InputProperties, path) {
				t.Errorf("%s has no input %q", token, path)
			}
		}
	}
}

// has reports whether a dotted path is a property.
func has(properties []*schema.Property, path string) bool {
	name, rest, deeper := strings.Cut(path, ".")
	i := slices.IndexFunc(properties, func(p *schema.Property) bool { return p.Name == name })
	if i < 0 || !deeper {
		return i >= 0
	}
	typ := properties[i].Type
	for {
		switch t := typ.(type) {
		case *schema.OptionalType:
			typ = t.ElementType
		case *schema.InputType:
			typ = t.ElementType
		case *schema.ArrayType:
			typ = t.ElementType
		case *schema.ObjectType:
			return has(t.Properties, rest)
		default:
			return false
		}
	}
}
