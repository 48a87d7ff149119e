package e2e

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/strata-platform/strata/test/docstest"
)

// lastCommand is the last command of the page for platform teams. The script down.txtar runs it.
const lastCommand = "strata down --purge --yes\n"

// platformTeam: platformteam — runs the blocks for `local` in docs/platform-team.md as one shell script, except the last
// command.
func platformTeam(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, _ []string) {
		page := "set -e\n"
		for _, block := range docstest.Blocks(t, "docs/platform-team.md") {
			if block.Language == "sh" && block.Name == "local" {
				page += block.Text
			}
		}
		page, found := strings.CutSuffix(page, lastCommand)
		if !found {
			ts.Fatalf("the page does not end with %s", lastCommand)
		}
		// The command under test is already built, and is in the PATH.
		out, err := inShell(ts, refusing(strings.Replace(page, "make build\n", "", 1))).CombinedOutput()
		ts.Logf("%s", out)
		ts.Check(err)
	}
}
