package frame_test

import (
	"errors"
	"strings"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
)

// parameterized returns the package of the tests as the form of plugin base that the value "toys" selects.
func parameterized() p.Provider {
	pkg := (&shelf{}).pkg()
	pkg.Version, pkg.Schema = "2.0.1", []byte(`{"name":"toys"}`)
	only := func(got string) error {
		if got != "toys" {
			return errors.New("the plugin serves toys only,\nnot " + got)
		}
		return nil
	}
	pkg.Parameter = &frame.Parameter{
		Plugin: "base", Version: "1.0.0",
		Value: func(value []byte) error { return only(string(value)) },
		Args:  func(args []string) error { return only(strings.Join(args, " ")) },
	}
	return pkg.Provider()
}

func TestAParameterSelectsThePackage(t *testing.T) {
	for name, request := range map[string]p.ParameterizeRequest{
		"the value of an SDK":           {Value: &p.ParameterizeRequestValue{Value: []byte("toys")}},
		"arguments of the command line": {Args: &p.ParameterizeRequestArgs{Args: []string{"toys"}}},
	} {
		t.Run(name, func(t *testing.T) {
			server := parameterized()
			before, err := server.GetSchema(t.Context(), p.GetSchemaRequest{})
			if err != nil || !strings.Contains(before.Schema, `"name":"base","version":"1.0.0"`) {
				t.Errorf("the schema before is %s: %v", before.Schema, err)
			}
			got, err := server.Parameterize(t.Context(), request)
			if err != nil || got.Version.String() != "2.0.1" || got.Name == "base" {
				t.Errorf("the package is %s %s: %v", got.Name, got.Version, err)
			}
			if after, err := server.GetSchema(t.Context(), p.GetSchemaRequest{}); err != nil || after.Schema != `{"name":"toys"}` {
				t.Errorf("the schema after is %s: %v", after.Schema, err)
			}
			if _, err := server.Parameterize(t.Context(), request); err == nil || !strings.Contains(err.Error(), "already serves") {
				t.Errorf("the error of a second parameter is %v", err)
			}
		})
	}
}

func TestAnotherParameterIsRefusedInOneLine(t *testing.T) {
	server := parameterized()
	_, err := server.Parameterize(t.Context(), p.ParameterizeRequest{Args: &p.ParameterizeRequestArgs{Args: []string{"cars", "1.2.3"}}})
	if want := "parameter of plugin base: the plugin serves toys only, not cars 1.2.3"; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	if _, err := (&shelf{}).pkg().Provider().Parameterize(t.Context(), p.ParameterizeRequest{}); err == nil || !strings.Contains(err.Error(), "no parameters") {
		t.Errorf("the error of a package with a plugin of its own is %v", err)
	}
}
