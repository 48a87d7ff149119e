package frame_test

import (
	"strings"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

func TestCheck(t *testing.T) {
	unknown := property.New(property.Computed)
	for name, tc := range map[string]struct {
		inputs property.Map
		want   string // the failure; empty for none
	}{
		"accepts inputs of the SDK's types": {inputs: props("size", 1, "labels", props("a", "b"), "locks", []property.Value{property.New(props("level", 1))})},
		"accepts unknown values":            {inputs: props("size", unknown, "lid", unknown)},
		"accepts secrets":                   {inputs: props("size", property.New(1.0).WithSecret(true))},
		"rejects unknown properties":        {props("size", 1, "weight", 2), `weight: unknown property "weight"`},
		"suggests a similar property":       {props("size", 1, "label", props()), `label: unknown property "label", did you mean "labels"?`},
		"rejects missing properties":        {props("colour", "red"), `size: missing required property "size"`},
		"rejects wrong types":               {props("size", "big"), `size: property "size" must be an integer, not a string`},
		"rejects fractions for integers":    {props("size", property.New(1.5)), `size: property "size" must be an integer, not a number`},
		"reports the path in a list": {
			props("size", 1, "locks", []property.Value{property.New(props("level", 1)), property.New(props("level", true))}),
			`locks[1].level: property "locks[1].level" must be an integer, not a boolean`,
		},
		"reports the path in an object":  {props("size", 1, "lid", props("code", "x")), `lid.level: missing required property "lid.level"`},
		"reports the path in a map":      {props("size", 1, "labels", props("a", 1)), `labels.a: property "labels.a" must be a string, not a number`},
		"runs the check of the resource": {props("size", -1), `size: size must not be negative`},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shelf{}
			resp, err := s.pkg().Provider().Check(t.Context(), p.CheckRequest{Urn: urn("b"), Inputs: tc.inputs})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range resp.Failures {
				got = append(got, f.Property+": "+f.Reason)
			}
			if text := strings.Join(got, "\n"); text != tc.want {
				t.Errorf("failures:\n%s\nwant:\n%s", text, tc.want)
			}
		})
	}
}

func TestCheckGeneratesANameAndKeepsIt(t *testing.T) {
	s := (&shelf{}).pkg().Provider()
	first, err := s.Check(t.Context(), p.CheckRequest{Urn: urn("My-Box"), Inputs: props("size", 1)})
	if err != nil {
		t.Fatal(err)
	}
	name := first.Inputs.Get("name").AsString()
	if !strings.HasPrefix(name, "My-Box-") || len(name) != len("My-Box-")+7 {
		t.Errorf("generated name is %q, want My-Box- and seven digits", name)
	}
	if v := first.Inputs.Get("fancy"); !v.IsBool() || !v.AsBool() {
		t.Errorf("fancy is %v, want the default", v)
	}
	second, err := s.Check(t.Context(), p.CheckRequest{Urn: urn("My-Box"), State: first.Inputs, Inputs: props("size", 2)})
	if err != nil {
		t.Fatal(err)
	}
	if got := second.Inputs.Get("name").AsString(); got != name {
		t.Errorf("the name changed to %q, want %q", got, name)
	}
	third, err := s.Check(t.Context(), p.CheckRequest{Urn: urn("My-Box"), State: props("name", "own"), Inputs: props("size", 2)})
	if err != nil {
		t.Fatal(err)
	}
	if got := third.Inputs.Get("name").AsString(); got == "own" {
		t.Error("the plugin kept a name that the program no longer sets")
	}
}
