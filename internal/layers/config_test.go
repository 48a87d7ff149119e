package layers

import (
	"slices"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
)

func TestAssignments(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"text stays whole":             {"a=b,\"c\"", []string{"p:k=a=b,\"c\""}},
		"a list by index":              {`["x","y"]`, []string{"p:k[0]=x", "p:k[1]=y"}},
		"an object by name":            {`{"web":{"user":"u","b.c":"v"}}`, []string{`p:k["web"]["b.c"]=v`, `p:k["web"]["user"]=u`}},
		"an empty list is absent":      {"[]", nil},
		"text that begins like a list": {"[gone", []string{"p:k=[gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := assignments("p:k", tc.text); !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestStoredValueIs(t *testing.T) {
	stored := storedValue{Value: `["a"]`, ObjectValue: []any{"a"}}
	for name, tc := range map[string]struct {
		stored storedValue
		wanted auto.ConfigValue
		want   bool
	}{
		"the same list":         {stored, auto.ConfigValue{Value: `[ "a" ]`}, true},
		"another list":          {stored, auto.ConfigValue{Value: `["b"]`}, false},
		"a list kept as text":   {storedValue{Value: `["a"]`}, auto.ConfigValue{Value: `["a"]`}, false},
		"the same text":         {storedValue{Value: "a", Secret: true}, auto.ConfigValue{Value: "a", Secret: true}, true},
		"text that is a secret": {storedValue{Value: "a"}, auto.ConfigValue{Value: "a", Secret: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.stored.is(tc.wanted); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestCSVLine(t *testing.T) {
	if got, want := csvLine([]string{"a=b", `c="d",e`}), `a=b,"c=""d"",e"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
