package platform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/pulumitest"
	"github.com/strata-platform/strata/platform"
)

func TestFluxHasMoreWorkersThanSyncs(t *testing.T) {
	for accounts, want := range map[int]string{0: "20", 15: "20", 16: "40", 40: "60"} {
		list := "- name: web\n- name: api\n  accounts:\n"
		for i := range accounts {
			list += fmt.Sprintf("  - {name: a%d, may: [stacks], path: ./a%d}\n", i, i)
		}
		engine := withTeams(t, list, func(c *platform.Config) { c.TeamCredentials = nil })
		if err := run(engine); err != nil {
			t.Fatal(err)
		}
		override, _ := pulumitest.Plain(t, engine.OfType("flux:index/bootstrapGit:BootstrapGit")[0].Inputs, "kustomizationOverride")
		if text, _ := override.(string); !strings.Contains(text, "--concurrent="+want+"\n") {
			t.Errorf("with %d accounts the controllers do not work on %s objects at a time", accounts, want)
		}
	}
}
