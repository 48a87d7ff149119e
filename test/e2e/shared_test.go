package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/strata-platform/strata/test/long"
	"github.com/strata-platform/strata/test/stratatest"
)

// sharedScripts run one after the other on one platform, in this order. Each brings the platform up, which takes little
// time if it is up already, and leaves it ready for the next, except climb, which removes policies.
var sharedScripts = []string{"platform-team", "chain", "status", "rotate", "conformance", "app-team", "user", "team", "story", "audit", "ledger", "crossing", "climb", "down"}

// TestSharedPlatform runs scripts on one platform, in an organisation's repository, from an empty home until down. Run a single
// script with `go test ./test/e2e -run TestSharedPlatform/NAME`.
func TestSharedPlatform(t *testing.T) {
	long.Test(t)
	if testing.Short() {
		t.Skip("needs the toolchain")
	}
	t.Parallel()
	build(t)
	p := newSharedPlatform(t)
	scripts := params("")
	for _, name := range sharedScripts {
		scripts.Files = append(scripts.Files, filepath.Join("testdata", "shared", name+".txtar"))
	}
	scripts.Cmds["appteam"] = appTeam(t)
	scripts.Setup = func(env *testscript.Env) error {
		env.Defer(func() { diagnose(env) })
		return p.setup(env)
	}
	testscript.RunT(script{T: t, sequential: true}, scripts)
}

// newSharedPlatform returns a platform with an organisation's repository, as strata init makes it, with the team web. The scripts
// commit there. TestTheTour runs in a clone of Strata.
func newSharedPlatform(t *testing.T) platform {
	t.Helper()
	p := platform{dir: stratatest.NewWithTools(t).Dir}
	p.root = filepath.Join(p.dir, "acme")
	if err := os.Mkdir(filepath.Join(p.dir, ".tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	strata := filepath.Join(strataDir, "strata")
	for _, command := range [][]string{
		{strata, "init", p.root, "--module-source", root},
		{"git", "-C", p.root, "config", "user.name", "Ada"},
		{"git", "-C", p.root, "config", "user.email", "ada@example.com"},
		{"git", "-C", p.root, "commit", "--quiet", "--message", "Begin with Strata"},
		{strata, "team", "add", "web", "--commit"},
	} {
		run := exec.CommandContext(t.Context(), command[0], command[1:]...)
		run.Dir, run.Env = p.dir, append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "STRATA_HOME="+filepath.Join(p.dir, "home"))
		if command[1] == "team" {
			run.Dir = p.root
		}
		if out, err := run.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", command, err, out)
		}
	}
	return p
}
