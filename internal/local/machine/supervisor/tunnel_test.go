package supervisor

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

// TestRunsOfStacksReachTheEmulatedCloud checks that the operator has the environment that leads to the emulated Google
// Cloud, by endpoint and by tunnel, and that its deployment passes that environment on to the runs.
func TestRunsOfStacksReachTheEmulatedCloud(t *testing.T) {
	h, err := home.At(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	const google = "http://127.0.0.1:4711"
	needed := cloud.Endpoints(google)
	maps.Copy(needed, cloud.TunnelVariables(google, h.Certificates()))
	has := operatorEnv(h, google)

	deployment, err := os.ReadFile(filepath.Join(toolchaintest.Root(t), "operator", "config", "manager", "deployment.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(deployment), "--pass-env=")
	line, _, _ := strings.Cut(rest, "\n")
	passed := strings.Split(line, ",")
	for name, value := range needed {
		if has[name] != value {
			t.Errorf("the operator's %s is %q, want %q", name, has[name], value)
		}
		matches := func(pattern string) bool { ok, err := path.Match(pattern, name); return ok && err == nil }
		if !slices.ContainsFunc(passed, matches) {
			t.Errorf("the operator's deployment does not pass %s on: it passes %v", name, passed)
		}
	}
}
