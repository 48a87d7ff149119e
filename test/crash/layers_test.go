package crash

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/operator/engine/settle"
	platformlayer "github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/test/stratatest"
)

const (
	killsOfUp      = 10
	killsOfDestroy = 3
)

// layer holds the facts about a layer that these tests need: its project, its folder, and the number of resources after
// which its commands are killed. Repeated kills cover the whole layer.
type layer struct {
	name, project, folder string
	upStep, destroyStep   int
}

var (
	bootstrapLayer = layer{"bootstrap", bootstrap.Project, "bootstrap", 2, 3}
	platformLayer  = layer{"platform", platformlayer.Project, ".", 4, 12}
)

// TestALayerThatIsKilledAgainAndAgainEndsWell kills strata, pulumi and its plugins at ten points of each layer's up, one
// after the other, and then in the same way during its destroy.
func TestALayerThatIsKilledAgainAndAgainEndsWell(t *testing.T) {
	p := platform{stratatest.NewWithTools(t), t}
	for _, l := range []layer{bootstrapLayer, platformLayer} {
		p.killAgainAndAgain(killsOfUp, l.upStep, l, "up")
		p.checkSettled(l)
		p.checkNothingTwice(l)
		p.checkNothingLost(l)
		if left := p.unchanged(l); left != "" {
			t.Errorf("layer %s changes again: %s", l.name, left)
		}
	}
	p.removeStacks()
	for _, l := range []layer{platformLayer, bootstrapLayer} {
		p.killAgainAndAgain(killsOfDestroy, l.destroyStep, l, "destroy", "--yes")
		if d := p.deployment(l); d != nil && len(d.Resources)+len(d.PendingOperations) > 0 {
			t.Errorf("after its destroy layer %s has %d resources and %d pending operations", l.name, len(d.Resources), len(d.PendingOperations))
		}
	}
	for _, id := range p.cloudResources() {
		t.Errorf("%s is left", id)
	}
}

// TestWhatAKilledUpHasMadeIsDestroyed destroys a layer whose up was killed and never resumed.
func TestWhatAKilledUpHasMadeIsDestroyed(t *testing.T) {
	p := platform{stratatest.NewWithTools(t), t}
	for point := range 5 {
		if !p.killAt(1+2*point, []string{"layer", "up", "bootstrap"}) {
			t.Fatal("the layer was up before it was killed")
		}
		p.logLeft(bootstrapLayer)
		p.Run("layer", "destroy", "bootstrap", "--yes")
		for _, id := range p.cloudResources() {
			t.Errorf("%s is left", id)
		}
	}
}

// killAgainAndAgain runs a command of a layer and kills it once step resources have started. It repeats this until the
// command has been killed kills times, and then runs the command to its end. If a command ends before its kill, it
// reverts the command and starts again.
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

// killAt runs strata and kills all of its processes once point resources have started. It reports whether that happened
// before the end.
func (p platform) killAt(point int, args []string) bool {
	p.t.Helper()
	command := p.Command(p.t.Context(), args...)
	stderr, err := command.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		p.t.Fatal(err)
	}
	begun, killed := 0, false
	var said []string
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		said = append(said, line)
		operation, resource, _ := strings.Cut(line, " ")
		// Components take no time.
		if !slices.Contains([]string{"create", "update", "replace", "delete"}, operation) || strings.HasPrefix(resource, "strata:") || strings.HasPrefix(resource, "pulumi:") {
			continue
		}
		if begun++; begun == point {
			p.killLayer(command.Process.Pid)
			killed = true
			p.t.Logf("%s: killed at %s", strings.Join(args, " "), line)
		}
	}
	err = command.Wait()
	if killed {
		return true
	}
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		p.t.Fatalf("strata %s failed by itself:\n%s", strings.Join(args, " "), strings.Join(said, "\n"))
	}
	return false
}

// killLayer kills strata, and then all processes of the layers: pulumi and its plugins.
func (p platform) killLayer(strata int) {
	p.t.Helper()
	if err := syscall.Kill(strata, syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
	for _, pid := range p.layerProcesses() {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			p.t.Fatal(err)
		}
	}
}

// layerProcesses returns the processes whose HOME is a layer's.
func (p platform) layerProcesses() []int {
	p.t.Helper()
	h := p.home()
	var found []int
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		environment, _ := os.ReadFile(path)
		for variable := range bytes.SplitSeq(environment, []byte{0}) {
			if strings.HasPrefix(string(variable), "HOME="+h.Layers()+"/") {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
				found = append(found, pid)
			}
		}
	}
	return found
}

func (p platform) home() home.Home {
	p.t.Helper()
	h, err := home.At(p.Home)
	if err != nil {
		p.t.Fatal(err)
	}
	return h
}

// deployment returns the stored state of a layer; nil if there is none.
func (p platform) deployment(l layer) *apitype.DeploymentV3 {
	p.t.Helper()
	raw, err := os.ReadFile(filepath.Join(p.home().LayerState(), ".pulumi", "stacks", l.project, "dev.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var file struct {
		Checkpoint struct {
			Latest *apitype.DeploymentV3 `json:"latest"`
		} `json:"checkpoint"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &file)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return file.Checkpoint.Latest
}

// logLeft logs the pending operations that a kill has left.
func (p platform) logLeft(l layer) {
	p.t.Helper()
	if d := p.deployment(l); d != nil {
		for _, o := range d.PendingOperations {
			p.t.Logf("left %s %s", o.Type, o.Resource.URN.Name())
		}
	}
}

// checkSettled fails the test if a layer's state has pending operations, a lock, or duplicate resources.
func (p platform) checkSettled(l layer) {
	p.t.Helper()
	d := p.deployment(l)
	if d == nil || len(d.Resources) < 10 {
		p.t.Fatalf("layer %s has no state to speak of: %+v", l.name, d)
	}
	if len(d.PendingOperations) > 0 {
		p.t.Errorf("layer %s still has pending operations: %+v", l.name, d.PendingOperations)
	}
	seen := map[string]bool{}
	for _, r := range d.Resources {
		key := string(r.Type) + " " + string(r.ID)
		// A random value is not an object; all random values have the ID none.
		if r.Custom && !strings.HasPrefix(string(r.Type), "pulumi:") && r.ID != "none" && seen[key] {
			p.t.Errorf("layer %s has %s twice", l.name, key)
		}
		seen[key] = true
		if found := settle.ID(string(r.Type), r.Inputs, ""); r.Custom && found != string(r.ID) && !hasNoID(string(r.Type)) {
			p.t.Errorf("layer %s: a killed run's %s would be looked for as %q, and is %q", l.name, r.URN, found, r.ID)
		}
		if len(r.InitErrors) > 0 {
			p.t.Errorf("layer %s: %s has init errors: %q", l.name, r.URN, r.InitErrors)
		}
		if r.Delete {
			p.t.Errorf("layer %s still has to delete %s", l.name, r.URN)
		}
	}
	if locks, _ := filepath.Glob(filepath.Join(p.home().LayerState(), ".pulumi", "locks", "organization", l.project, "*", "*")); len(locks) > 0 {
		p.t.Errorf("layer %s is locked: %v", l.name, locks)
	}
	if left := p.layerProcesses(); len(left) > 0 {
		p.t.Errorf("processes of layers are left: %v", left)
	}
}

// hasNoID reports whether the inputs of a type do not determine the ID. The next run creates resources of these types
// again.
func hasNoID(typ string) bool {
	return strings.HasPrefix(typ, "pulumi:") || strings.HasPrefix(typ, "random:") || typ == "gcp:serviceaccount/key:Key"
}

// unchanged returns an error if an up of a layer changes anything.
func (p platform) unchanged(l layer) string {
	p.t.Helper()
	var result struct {
		Changes map[string]int `json:"changes"`
	}
	out := p.Run("layer", "up", l.name, "-o", "json")
	if err := json.Unmarshal(out, &result); err != nil {
		p.t.Fatal(err)
	}
	if result.Changes["same"] == 0 || len(result.Changes) != 1 {
		return string(out)
	}
	return ""
}

// checkNothingTwice fails the test if a resource of a layer exists that the state of the layer does not contain.
func (p platform) checkNothingTwice(l layer) {
	p.t.Helper()
	ids := map[string]bool{}
	for _, r := range p.deployment(l).Resources {
		ids[string(r.ID)] = true
	}
	var found []string
	if l == bootstrapLayer {
		found = p.cloudResources()
	} else {
		found = p.objectsOfPulumi()
	}
	if len(found) < 5 {
		p.t.Errorf("layer %s made only %v", l.name, found)
	}
	for _, id := range found {
		if !ids[id] {
			p.t.Errorf("layer %s has made %s, and its state does not hold it", l.name, id)
		}
	}
}

// checkNothingLost fails the test if the state of a layer contains a resource that does not exist, or that differs.
func (p platform) checkNothingLost(l layer) {
	p.t.Helper()
	var variables map[string]string
	if err := json.Unmarshal(p.Run("env", l.name, "-o", "json"), &variables); err != nil {
		p.t.Fatal(err)
	}
	refresh := exec.CommandContext(p.t.Context(), filepath.Join(p.home().Tools(), "pulumi"), "refresh", "--preview-only", "--expect-no-changes", "--non-interactive", "--color=never")
	refresh.Dir = filepath.Join(toolchaintest.Root(p.t), l.folder)
	refresh.Env = append(os.Environ(), "TMPDIR="+p.t.TempDir())
	for name, value := range variables {
		refresh.Env = append(refresh.Env, name+"="+value)
	}
	if out, err := refresh.CombinedOutput(); err != nil {
		p.t.Errorf("layer %s is not as its state says: %v\n%s", l.name, err, out)
	}
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
	git("-C", clone, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "--quiet", "--all", "--message=Give the database up")
	git("-C", clone, "-c", helper, "push", "--quiet")
	p.eventually("the Stack is gone", func() error {
		raw, err := p.Kubernetes().Discovery().RESTClient().Get().AbsPath("/apis/pulumi.com/v1/stacks").DoRaw(p.t.Context())
		if err == nil && strings.Contains(string(raw), "wordpress-infra") {
			err = errors.New("it is there")
		}
		return err
	})
}

// stackMade is the object that the team's own Stack creates in the cluster.
const stackMade = "team-web/sql-auth"

// objectsOfPulumi returns the IDs that the Kubernetes plugin gives to the objects whose fields it owns. It fails the test
// if two runs of the plugin own fields of one object: each would prevent the other from changing it.
func (p platform) objectsOfPulumi() []string {
	p.t.Helper()
	all, err := stratatest.Objects(p.t.Context(), p.home().AdminKubeconfig())
	if err != nil {
		p.t.Fatal(err)
	}
	var found []string
	for _, object := range all {
		var managers []string
		for _, entry := range object.ManagedFields {
			if strings.HasPrefix(entry.Manager, "pulumi-kubernetes") && !slices.Contains(managers, entry.Manager) {
				managers = append(managers, entry.Manager)
			}
		}
		if len(managers) > 1 {
			p.t.Errorf("%s is managed by %v", object, managers)
		}
		if id := strings.TrimPrefix(object.Namespace+"/"+object.Name, "/"); len(managers) > 0 && id != stackMade {
			found = append(found, id)
		}
	}
	return found
}
