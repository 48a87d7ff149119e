package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/strata-platform/strata/test/soak"
)

// Points at which up and down are killed, as arguments of killed: the printed text, and the running process.
var (
	pointsOfUp = []string{
		"'repositories' pulumi-resource-gcp", "'layer 1' pulumi-resource-kubernetes", "'layer 2' ''",
	}
	pointsOfDown = []string{
		"'' leaving:pulumi-resource-gcp", "'teams: destroy' ''", "'teams, operator' pulumi-resource-kubernetes", "'layer 2' pulumi-resource-gcp",
	}
)

// TestSoakKilled kills up and down at every point in each round: once the call, and once the supervisor. After a kill of down,
// half of the cases continue with a down, and half with an up.
func TestSoakKilled(t *testing.T) {
	rounds := soak.Rounds(t, 200)
	build(t)
	ensureTools(t)
	dir := t.TempDir()
	lines := []string{"cd $ROOT"}
	for range rounds {
		for n, who := range []string{"strata", "supervisor"} {
			for _, point := range pointsOfUp {
				lines = append(lines, fmt.Sprintf("killed %s %s up", who, point), "exec strata up", "exec strata status", "exec strata down --yes", "cloudempty")
			}
			for m, point := range pointsOfDown {
				lines = append(lines, "exec strata up", fmt.Sprintf("killed %s %s down --yes", who, point))
				if (n+m)%2 == 0 {
					lines = append(lines, "exec strata up", "exec strata status", "stdout 'everything is ready'")
				} else {
					lines = append(lines, "exec strata down --yes", "cloudempty")
				}
			}
		}
	}
	lines = append(lines, "exec strata down --yes", "cloudempty", "exec strata down --purge --yes", "nothingleft", "")
	if err := os.WriteFile(filepath.Join(dir, "killed.txtar"), []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.RunT(script{T: t}, params(dir))
}

// TestSoakScripts runs each script of the folder soak in every round.
func TestSoakScripts(t *testing.T) {
	rounds := soak.Rounds(t, 80)
	build(t)
	ensureTools(t)
	for round := 1; round <= rounds; round++ {
		t.Run(fmt.Sprintf("round %d of %d", round, rounds), func(t *testing.T) {
			testscript.RunT(script{T: t, sequential: true}, params(filepath.Join("testdata", "soak")))
		})
	}
}
