package home_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

func TestAHomeKeepsItsOperator(t *testing.T) {
	for name, test := range map[string]struct {
		// kept are the operators of earlier calls, and made says whether a layer ran.
		kept []string
		made bool
		name string
		// want is the operator afterwards, and refused the end of the error.
		want, refused string
	}{
		"a new home has the embedded one":            {want: home.EmbeddedOperator},
		"a new home gets upstream's":                 {name: home.UpstreamOperator, want: home.UpstreamOperator},
		"a call without a name changes nothing":      {kept: []string{home.UpstreamOperator}, want: home.UpstreamOperator},
		"the same again":                             {kept: []string{home.UpstreamOperator}, made: true, name: home.UpstreamOperator, want: home.UpstreamOperator},
		"another is refused":                         {kept: []string{home.UpstreamOperator}, name: home.EmbeddedOperator, want: home.UpstreamOperator, refused: "has the operator upstream, not embedded"},
		"a home of an earlier version keeps its own": {made: true, name: home.UpstreamOperator, want: home.EmbeddedOperator, refused: "has the operator embedded, not upstream"},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := home.Open(filepath.Join(t.TempDir(), "home"))
			if err != nil {
				t.Fatal(err)
			}
			for _, kept := range test.kept {
				if err := h.KeepOperator(kept); err != nil {
					t.Fatal(err)
				}
			}
			if test.made {
				if err := os.MkdirAll(h.Layers(), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			err = h.KeepOperator(test.name)
			if (err != nil) != (test.refused != "") || err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Errorf("error is %v, want %q", err, test.refused)
			}
			if got := h.Operator(); got != test.want {
				t.Errorf("the operator is %q, want %q", got, test.want)
			}
			if err := h.Remove(); err != nil {
				t.Error(err)
			}
		})
	}
}
