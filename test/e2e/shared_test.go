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
// time if it is up already, and leaves it ready for the next.
var sharedScripts = []string{"platform-team", "chain", "status", "user", "app-team", "team", "crossing", "climb", "down"}

// TestSharedPlatform runs scripts on one platform, from an empty home until down. Run a single script with
// `go test ./test/e2e -run TestSharedPlatform/NAME`.
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
	scripts.Cmds["platformteam"], scripts.Cmds["appteam"] = platformTeam(t), appTeam(t)
	scripts.Setup = func(env *testscript.Env) error {
		env.Defer(func() { diagnose(env) })
		return p.setup(env)
	}
	testscript.RunT(script{T: t, sequential: true}, scripts)
}

// newSharedPlatform returns a platform with a clone of Strata's repository, in which scripts commit.
func newSharedPlatform(t *testing.T) platform {
	t.Helper()
	p := platform{dir: stratatest.NewWithTools(t).Dir}
	p.root = filepath.Join(p.dir, "clone")
	if err := os.Mkdir(filepath.Join(p.dir, ".tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := cloneTo(p.root); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"user.name": "Ada", "user.email": "ada@example.com"} {
		if out, err := exec.CommandContext(t.Context(), "git", "-C", p.root, "config", name, value).CombinedOutput(); err != nil {
			t.Fatalf("configure git: %v: %s", err, out)
		}
	}
	return p
}
