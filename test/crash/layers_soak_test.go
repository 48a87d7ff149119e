package crash

import (
	"bytes"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/test/soak"
	"github.com/strata-platform/strata/test/stratatest"
)

const (
	killsOfUp      = 10
	killsOfDestroy = 3
	// killsBeforeDestroy is the number of kills of an up with a destroy after it.
	killsBeforeDestroy = 5
)

// steps are the numbers of started resources at which the test kills the up and the destroy of each layer. Repeated kills
// cover the whole layer.
var steps = []struct {
	layer
	up, destroy int
}{
	{bootstrapLayer, 2, 3},
	{platformLayer, 4, 12},
}

// TestSoakLayersAreKilledAgainAndAgain kills strata, pulumi and its plugins in each round: at points of the up of layer 1,
// each followed by a destroy, then at ten points of each layer's up, one after the other, and in the same way during its
// destroy.
func TestSoakLayersAreKilledAgainAndAgain(t *testing.T) {
	rounds := soak.Rounds(t, 200)
	p := platform{stratatest.NewWithTools(t), t}
	for round := 1; round <= rounds; round++ {
		for point := range killsBeforeDestroy {
			p.killBeforeDestroy(1 + 2*point)
		}
		for _, l := range steps {
			p.killAgainAndAgain(killsOfUp, l.up, l.layer, "up")
			p.checkWhole(l.layer)
		}
		p.removeStacks()
		for _, l := range slices.Backward(steps) {
			p.killAgainAndAgain(killsOfDestroy, l.destroy, l.layer, "destroy", "--yes")
			if d := p.deployment(l.layer); d != nil && len(d.Resources)+len(d.PendingOperations) > 0 {
				t.Errorf("after its destroy layer %s has %d resources and %d pending operations", l.name, len(d.Resources), len(d.PendingOperations))
			}
		}
		p.checkDestroyed()
		if t.Failed() {
			t.FailNow()
		}
		t.Logf("round %d of %d", round, rounds)
	}
}

// killAgainAndAgain runs a command of a layer and kills it when step resources have started. It does so kills times, and
// then runs the command to its end. If a command ends before its kill, killAgainAndAgain reverts the command and starts
// again.
func (p platform) killAgainAndAgain(kills, step int, l layer, verb string, flags ...string) {
	p.t.Helper()
	args := append([]string{"layer", verb, l.name}, flags...)
	for done := 0; done < kills; {
		if p.killAt(step, args) {
			done++
			p.logLeft(l)
			continue
		}
		if verb == "up" {
			p.Run("layer", "destroy", l.name, "--yes")
		} else {
			p.Run("layer", "up", l.name)
		}
	}
	p.Run(args...)
}

// removeStacks removes the team's Stack from the team's repository and waits until the Stack is gone.
func (p platform) removeStacks() {
	p.t.Helper()
	clone := filepath.Join(p.t.TempDir(), "web")
	helper := "credential.helper=store --file=" + p.home().GitCredentials()
	remote, err := url.Parse(p.status().GitURL + "/web.git")
	if err != nil {
		p.t.Fatal(err)
	}
	remote.User = url.User("web")
	git := func(args ...string) {
		p.t.Helper()
		command := exec.CommandContext(p.t.Context(), "git", args...)
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0")
		if out, err := command.CombinedOutput(); err != nil {
			p.t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	git("-c", helper, "clone", "--quiet", remote.String(), clone)
	list := filepath.Join(clone, "kustomization.yaml")
	content, err := os.ReadFile(list)
	if err == nil {
		err = os.WriteFile(list, bytes.ReplaceAll(content, []byte("  - app-infra.yaml\n"), nil), 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	git("-C", clone, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "--quiet", "--all", "--message=Remove the database")
	git("-C", clone, "-c", helper, "push", "--quiet")
	p.eventually("the Stack no longer exists", func() error {
		raw, err := p.Kubernetes().Discovery().RESTClient().Get().AbsPath("/apis/pulumi.com/v1/stacks").DoRaw(p.t.Context())
		if err == nil && strings.Contains(string(raw), "wordpress-infra") {
			err = errors.New("it still exists")
		}
		return err
	})
}
