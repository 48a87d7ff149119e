package project_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine/project"
)

func TestAliasesOfAProjectAreBounded(t *testing.T) {
	big := strings.Repeat("x", 300_000)
	nested := "a0: &a0 [x, x]\n"
	for i := range 40 {
		nested += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	for name, c := range map[string]struct {
		document string
		refused  bool
	}{
		"a large value, often":   {"a: &a " + big + "\nb: [" + strings.Repeat("*a,", 100_000) + "]\n", true},
		"a large key, often":     {"? &a " + big + "\n: 1\nb: [" + strings.Repeat("{*a : 1},", 100_000) + "]\n", true},
		"lists of lists":         {nested, true},
		"one that holds itself":  {"a: &a [*a]\n", true},
		"a merged map, often":    {"a: &a {x: " + big + "}\nb: [" + strings.Repeat("{<<: *a},", 50_000) + "]\n", true},
		"no alias":               {"name: shop\nb: " + big + "\n", false},
		"some aliases":           {"name: &n shop\nb: [*n, *n]\nc: *n\n", false},
		"nothing":                {"", false},
		"the same anchor, twice": {"a: &a x\nb: &a y\nc: *a\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			var into map[string]any
			if err := project.DecodeYAML([]byte(c.document), &into); (err != nil) != c.refused {
				t.Errorf("error %v, refused should be %v", err, c.refused)
			}
			if _, err := project.StrictJSON([]byte(c.document)); (err != nil) != c.refused {
				t.Errorf("StrictJSON: error %v, refused should be %v", err, c.refused)
			}
		})
	}
}
