package frame_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/pkg/v3/codegen/schema"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

func TestUnknownTypesAreRejectedWithAListOfTypes(t *testing.T) {
	server := (&shelf{}).pkg().Provider()
	_, err := server.Check(t.Context(), p.CheckRequest{Urn: resource.NewURN("dev", "test", "", "toys:index/ball:Ball", "b")})
	if err == nil || !strings.Contains(err.Error(), `"toys:index/ball:Ball" is not covered`) || !strings.Contains(err.Error(), boxToken) {
		t.Errorf("error is %v, want the type and the list of supported types", err)
	}
	if _, err := server.Invoke(t.Context(), p.InvokeRequest{Token: "toys:index/getBall:getBall"}); err == nil || !strings.Contains(err.Error(), "not covered") {
		t.Errorf("error of an unknown function is %v", err)
	}
}

func TestConfiguration(t *testing.T) {
	var got property.Map
	pkg := (&shelf{}).pkg()
	pkg.Configure = func(_ context.Context, config property.Map) error {
		got = config
		return nil
	}
	server := pkg.Provider()
	resp, err := server.CheckConfig(t.Context(), p.CheckRequest{Inputs: props("regoin", "here", "tags", "{", "version", "1.0.0")})
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Failures) != 2 || resp.Failures[0].Property != "regoin" || resp.Failures[1].Property != "tags" {
		t.Errorf("failures are %v, want regoin and tags", resp.Failures)
	}
	err = server.Configure(t.Context(), p.ConfigureRequest{Args: props("region", property.New("here").WithSecret(true), "tags", `["a","b"]`)})
	if err != nil {
		t.Fatal(err)
	}
	if got.Get("region").Secret() || got.Get("tags").AsArray().Len() != 2 {
		t.Errorf("configuration is %v, want no secret marks and a list of tags", got)
	}
}

func TestPulumiBindsTheSchema(t *testing.T) {
	resp, err := (&shelf{}).pkg().Provider().GetSchema(t.Context(), p.GetSchemaRequest{})
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
	r, ok := pkg.GetResource(boxToken)
	if !ok {
		t.Fatal("the resource is missing")
	}
	required := map[string]bool{}
	for _, in := range r.InputProperties {
		required[in.Name] = in.IsRequired()
	}
	if !required["size"] || required["colour"] || len(required) != 9 {
		t.Errorf("inputs (and whether they are required) are %v", required)
	}
	for _, out := range r.Properties {
		if out.Secret != (out.Name == "key") {
			t.Errorf("output %s: secret is %v", out.Name, out.Secret)
		}
	}
}
