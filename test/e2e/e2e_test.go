// Package e2e tests the strata command end to end: from an empty home to running Stacks, and back.
package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/test/long"
	"github.com/strata-platform/strata/test/stratatest"
)

// strataDir contains the strata command under test after build. root is Strata's repository.
var strataDir, root string

// TestMain runs the test binary as kubectl if that is its name, so that the pages do not need a kubectl on the machine.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "kubectl" {
		kubectl()
		return
	}
	var err error
	if root, err = toolchain.FindRoot("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(stratatest.Main(m))
}

var building sync.Once

// build builds the strata command, once, unless another test has built it.
func build(t testing.TB) {
	t.Helper()
	if built := os.Getenv(commandVariable); built != "" {
		building.Do(func() { strataDir = filepath.Dir(built) })
		return
	}
	executable := stratatest.Executable(t)
	building.Do(func() { strataDir = filepath.Dir(executable) })
}

// ensureTools builds the tools in the test's own time and log, before the first call of strata.
func ensureTools(t testing.TB) {
	t.Helper()
	command := exec.Command(filepath.Join(strataDir, "strata"), "toolchain", "build", "--all")
	command.Dir = root
	command.Stdout, command.Stderr = t.Output(), t.Output()
	if err := command.Run(); err != nil {
		t.Fatalf("build the tools: %v", err)
	}
}

// TestScripts runs scripts that have a platform each.
func TestScripts(t *testing.T) {
	long.Test(t)
	if testing.Short() {
		t.Skip("needs the toolchain")
	}
	t.Parallel()
	build(t)
	ensureTools(t)
	testscript.RunT(script{T: t}, params("testdata/script"))
}

// params returns the parameters for the scripts of a folder. Each script has a platform of its own.
func params(dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"eventually":   eventually,
			"secret":       secret,
			"read":         read,
			"mysql":        mysql,
			"row":          row,
			"gcluster":     createGoogleCluster,
			"noprocesses":  noProcesses,
			"cloudempty":   cloudEmpty,
			"nothingleft":  nothingLeft,
			"clone":        clone,
			"apply":        apply,
			"delete":       remove,
			"stack":        stack,
			"replace":      replace,
			"bucket":       bucket,
			"objects":      objects,
			"absent":       absent,
			"account":      account,
			"login":        login,
			"accountkey":   accountKey,
			"keys":         keys,
			"losecluster":  loseCluster,
			"cross":        cross,
			"scale":        scale,
			"running":      running,
			"killed":       killed,
			"artifact":     artifact,
			"newkey":       newKey,
			"platformteam": platformTeam,
		},
	}
}

// platform contains the folders of a script's platform.
type platform struct {
	// dir contains the home, and the folder for temporary files.
	dir string
	// root is the repository in which scripts run strata.
	root string
}

// setup gives a script a platform of its own.
func setup(env *testscript.Env) error {
	if err := (platform{env.WorkDir, root}).setup(env); err != nil {
		return err
	}
	env.Defer(func() {
		diagnose(env)
		// A script that failed midway leaves its platform running.
		command := exec.CommandContext(context.Background(), filepath.Join(strataDir, "strata"), "local", "stop")
		command.Dir, command.Env = root, env.Vars
		_ = command.Run()
	})
	return nil
}

// setup sets the variables of a script: its platform, and the machine's caches.
func (p platform) setup(env *testscript.Env) error {
	env.Setenv("PLATFORM", p.dir)
	env.Setenv("STRATA_HOME", filepath.Join(p.dir, "home"))
	env.Setenv("TMPDIR", filepath.Join(p.dir, ".tmp"))
	env.Setenv("PATH", strataDir+string(os.PathListSeparator)+os.Getenv("PATH"))
	env.Setenv("ROOT", p.root)
	env.Setenv("SOURCE", root)
	env.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	env.Setenv("GIT_TERMINAL_PROMPT", "0")
	caches, err := caches()
	if err != nil {
		return err
	}
	for name, value := range caches {
		env.Setenv(name, value)
	}
	env.Values[portsKey{}] = new(map[string]int)
	env.Values[machineKey{}] = new(machine)
	return nil
}

// caches returns variables with the machine's caches for Go and strata, which would look for them below HOME.
func caches() (map[string]string, error) {
	folder, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	found := map[string]string{"XDG_CACHE_HOME": folder}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "GOTOOLCHAIN"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			return nil, err
		}
		found[name] = string(value[:len(value)-1])
	}
	return found, nil
}
