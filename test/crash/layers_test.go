package crash

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/bootstrap"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/operator/engine/settle"
	platformlayer "github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/test/stratatest"
)

// layer is a layer with its Pulumi project and its folder.
type layer struct{ name, project, folder string }

var (
	bootstrapLayer = layer{"bootstrap", bootstrap.Project, "bootstrap"}
	platformLayer  = layer{"platform", platformlayer.Project, "."}
)

// checkWhole fails the test if a layer differs from the result of an uninterrupted up.
func (p platform) checkWhole(l layer) {
	p.t.Helper()
	p.checkSettled(l)
	p.checkPoints(l)
	p.checkNothingTwice(l)
	p.checkNothingLost(l)
	if left := p.unchanged(l); left != "" {
		p.t.Errorf("another up of layer %s makes changes: %s", l.name, left)
	}
}

// checkDestroyed fails the test if the emulated Google Cloud contains a resource.
func (p platform) checkDestroyed() {
	p.t.Helper()
	for _, id := range p.cloudResources() {
		p.t.Errorf("%s is left", id)
	}
}

// killAt runs strata and kills all of its processes when point resources have started. It reports whether it killed them
// before strata ended.
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
		p.t.Fatalf("layer %s has no state: %+v", l.name, d)
	}
	if len(d.PendingOperations) > 0 {
		p.t.Errorf("layer %s still has pending operations: %+v", l.name, d.PendingOperations)
	}
	seen := map[string]bool{}
	for _, r := range d.Resources {
		key := string(r.Type) + " " + string(r.ID)
		// Random values are not objects, and all have the ID none.
		if r.Custom && !strings.HasPrefix(string(r.Type), "pulumi:") && r.ID != "none" && seen[key] {
			p.t.Errorf("layer %s has %s twice", l.name, key)
		}
		seen[key] = true
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

// hasNoID reports whether a type's inputs leave the ID open. After a kill, the next run creates resources of such a type
// again.
func hasNoID(typ string) bool {
	return strings.HasPrefix(typ, "pulumi:") || strings.HasPrefix(typ, "random:") || typ == "gcp:serviceaccount/key:Key"
}

// checkPoints fails the test if a kill at any point of a layer's up would leave a state that cannot be settled. A kill
// during the creation of a resource leaves the resources before it in the state, and an operation in place of the
// resource. The settled state must have the resource with its real ID, or, if the inputs do not determine the ID, without
// the resource.
func (p platform) checkPoints(l layer) {
	p.t.Helper()
	d := p.deployment(l)
	for i, r := range d.Resources {
		if !r.Custom {
			continue
		}
		want := slices.Clone(d.Resources[:i])
		if !hasNoID(string(r.Type)) {
			want = append(want, r)
		}
		r.ID, r.Outputs = "", nil
		settled, err := p.settledBy(apitype.DeploymentV3{
			Manifest: d.Manifest, Resources: d.Resources[:i],
			PendingOperations: []apitype.OperationV2{{Type: apitype.OperationTypeCreating, Resource: r}},
		})
		switch {
		case err != nil:
			p.t.Errorf("layer %s, killed at %s: %v", l.name, r.URN, err)
		case len(settled.PendingOperations) > 0, !slices.EqualFunc(settled.Resources, want, sameResource):
			p.t.Errorf("layer %s, killed at %s: the settled state ends with %+v, want %+v", l.name, r.URN, settled.Resources[len(settled.Resources)-1], want[len(want)-1])
		}
	}
}

func sameResource(a, b apitype.ResourceV3) bool { return a.URN == b.URN && a.ID == b.ID }

// settledBy settles a state as the next run does, with a destroy after it, if every object exists.
func (p platform) settledBy(d apitype.DeploymentV3) (settled apitype.DeploymentV3, err error) {
	stack := &storedStack{d}
	err = settle.Settler{Stack: stack, Destroys: true}.Settle(p.t.Context())
	return stack.deployment, err
}

// storedStack is a stack of objects that all exist.
type storedStack struct{ deployment apitype.DeploymentV3 }

func (s *storedStack) Export(context.Context) ([]byte, error) {
	deployment, err := json.Marshal(s.deployment)
	if err != nil {
		return nil, err
	}
	return json.Marshal(apitype.UntypedDeployment{Version: 3, Deployment: deployment})
}

func (s *storedStack) Import(_ context.Context, state []byte) error {
	var exported apitype.UntypedDeployment
	if err := json.Unmarshal(state, &exported); err != nil {
		return err
	}
	s.deployment = apitype.DeploymentV3{}
	return json.Unmarshal(exported.Deployment, &s.deployment)
}

func (s *storedStack) Refresh(_ context.Context, urns []string) error {
	for i, r := range s.deployment.Resources {
		if slices.Contains(urns, string(r.URN)) {
			s.deployment.Resources[i].InitErrors = nil
		}
	}
	return nil
}

// unchanged returns the changes of another up of a layer; empty for none.
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
		p.t.Errorf("layer %s has created only %v", l.name, found)
	}
	for _, id := range found {
		if !ids[id] {
			p.t.Errorf("layer %s has created %s, and its state does not contain it", l.name, id)
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
		p.t.Errorf("the resources of layer %s differ from its state: %v\n%s", l.name, err, out)
	}
}

// stackObject is the object that the team's own Stack creates in the cluster.
const stackObject = "team-web/sql-auth"

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
		if id := strings.TrimPrefix(object.Namespace+"/"+object.Name, "/"); len(managers) > 0 && id != stackObject {
			found = append(found, id)
		}
	}
	return found
}
