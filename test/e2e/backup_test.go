package e2e

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/strata-platform/strata/test/docstest"
)

// drill: drill — runs the blocks in docs/platform-team.md that back a platform up, lose its home and restore it, as one shell
// script with the home directory $WORK/ada. It prints their output.
func drill(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, _ []string) {
		page := "set -e\n"
		for _, block := range docstest.Blocks(t, "docs/platform-team.md") {
			if block.Language == "sh" && block.Name == "drill" {
				page += block.Text
			}
		}
		user := ts.MkAbs(ts.Getenv("WORK") + "/ada")
		ts.Check(os.MkdirAll(user, 0o700))
		command := inShell(ts, page)
		command.Env = append(command.Env, "HOME="+user)
		out, err := command.CombinedOutput()
		_, writeErr := ts.Stdout().Write(out)
		ts.Check(writeErr)
		ts.Check(err)
	}
}
