package operator_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/long"
)

const (
	// killRounds is the number of rounds in every test run. TestSoakNothingIsLostOrDoubled has many more.
	killRounds = 4

	// killStacks is the number of Stacks in each round. mostResources is the maximum number of resources of each.
	killStacks, mostResources = 2, 6
)

var killSeed = flag.Uint64("kill-seed", 0, "seed of the random moments of the kills; 0 chooses one")

func TestNothingIsLostOrDoubledAfterKills(t *testing.T) {
	long.Test(t)
	killInRounds(t, killRounds)
}

// killInRounds kills the operator, or one of its processes, at a random moment of each round. It then checks that the
// cluster matches the Programs.
func killInRounds(t *testing.T, rounds int) {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if *killSeed != 0 {
		seed = *killSeed
	}
	t.Logf("the random moments have the seed -kill-seed=%d", seed)
	c := startCluster(t)
	k := &killing{team: newTeam(t, c), random: rand.New(rand.NewPCG(seed, 0)), operator: startOperator(t, c)}
	lock := k.lockByAnother(t)
	for round := 1; round <= rounds; round++ {
		k.round(t, round)
		if t.Failed() {
			t.Fatalf("round %d of %d failed", round, rounds)
		}
	}
	if now, err := os.ReadFile(lock); err != nil || string(now) != anothersLock {
		t.Errorf("the lock of the other process is %q, %v", now, err)
	}
	// The states match the cluster.
	for i := range killStacks {
		stack := stackName(i)
		k.apply(t, &v1.Stack{}, stackOf(stack, stack)+"  refresh: true\n  expectNoRefreshChanges: true\n")
		k.await(t, stack, "refreshed without a change", func(s *v1.Stack) bool { return ready(s) && s.Spec.Refresh })
	}
}

// killing is a team whose Stacks change while processes of the operator are killed.
type killing struct {
	*team
	*operator

	random *rand.Rand
}

func stackName(i int) string { return fmt.Sprintf("stack-%d", i) }

const anothersLock = `{"pid": 4711, "username": "somebody", "hostname": "elsewhere", "timestamp": "2026-01-02T03:04:05Z"}`

// lockByAnother creates a Stack that another process has locked for an update.
func (k *killing) lockByAnother(t *testing.T) string {
	t.Helper()
	path := filepath.Join(k.state, ".pulumi", "locks", "organization", "locked", "locked", "0.json")
	k.write(t, path, anothersLock)
	k.apply(t, &v1.Program{}, "metadata: {name: locked}\nprogram: {outputs: {a: 1}}")
	k.apply(t, &v1.Stack{}, stackOf("locked", "locked")+"  retryOnUpdateConflict: true\n  retryMaxBackoffDurationSeconds: 1\n")
	return path
}

// round changes every Program, kills a process in the meantime, and checks the result.
func (k *killing) round(t *testing.T, round int) {
	t.Helper()
	made, stop := k.firstMade(t, round)
	defer stop()
	wanted := map[string]bool{} // by Stack and resource
	for i := range killStacks {
		name := stackName(i)
		resources := k.random.Perm(mostResources)[:1+k.random.IntN(mostResources)]
		var program strings.Builder
		fmt.Fprintf(&program, "metadata: {name: %s}\nprogram:\n  outputs: {round: %d}\n  resources:\n", name, round)
		for _, r := range resources {
			wanted[fmt.Sprintf("%s-r%d", name, r)] = true
			// Pulumi chooses the object's name. With a fixed name, the test would not notice a duplicate. No garbage
			// collector runs here, so the propagation is in the background.
			fmt.Fprintf(&program, `    %[1]s-r%[2]d:
      type: kubernetes:core/v1:ConfigMap
      properties:
        metadata: {annotations: {pulumi.com/deletionPropagationPolicy: background}}
        data: {round: "%[3]d", resource: %[1]s-r%[2]d}
`, name, r, round)
		}
		k.apply(t, &v1.Program{}, program.String())
		if round == 1 {
			k.apply(t, &v1.Stack{}, stackOf(name, name))
		}
	}
	what := k.strike(t, made)
	for i := range killStacks {
		k.await(t, stackName(i), fmt.Sprintf("Ready in round %d after the kill of %s", round, what), func(s *v1.Stack) bool {
			return ready(s) && string(s.Status.Outputs["round"].Raw) == fmt.Sprint(round)
		})
	}
	k.check(t, round, what, wanted)
}

// strike kills a process at a random moment. If it was the operator, strike starts the operator again.
func (k *killing) strike(t *testing.T, made <-chan struct{}) string {
	t.Helper()
	wait := time.Duration(k.random.IntN(2500)) * time.Millisecond
	afterFirst, child, choice := k.random.IntN(2) == 0, k.random.IntN(3) == 0, k.random.IntN(100)
	if afterFirst {
		// Wait until the run is creating and changing objects.
		select {
		case <-made:
		case <-time.After(awaitTimeout):
			t.Fatal("no object was created or changed")
		}
		wait /= 10
	}
	// Wait for a random time.
	select {
	case <-t.Context().Done():
	case <-time.After(wait):
	}
	children := k.children()
	slices.SortFunc(children, func(a, b process) int { return a.pid - b.pid })
	// Pulumi treats the exit of a plugin as a failure, and then forgets the resource that it was creating. This test does
	// not cover that.
	own := slices.DeleteFunc(slices.Clone(children), func(p process) bool { return strings.Contains(p.line, "pulumi-resource-") })
	if child && len(own) > 0 {
		victim := own[choice%len(own)]
		// The process may have exited by itself.
		_ = syscall.Kill(victim.pid, syscall.SIGKILL)
		return victim.line
	}
	k.kill(t)
	k.again(t)
	// The next operator ends the processes of the previous one.
	eventually(t, "the processes of the operator have ended", func() error {
		for _, p := range children {
			if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.pid)); err == nil && len(line) > 0 {
				return fmt.Errorf("process %d still runs: %s", p.pid, p.line)
			}
		}
		return nil
	})
	return "the operator"
}

// firstMade returns a channel that is closed when the first object of a round exists.
func (k *killing) firstMade(t *testing.T, round int) (made <-chan struct{}, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	events, err := k.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace(k.namespace))
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan struct{})
	go func() {
		defer events.Stop()
		for event := range events.ResultChan() {
			configMap, ok := event.Object.(*corev1.ConfigMap)
			if ok && event.Type != watch.Deleted && configMap.Data["round"] == fmt.Sprint(round) {
				close(first)
				return
			}
		}
	}()
	return first, cancel
}

// check checks that the cluster contains exactly the wanted objects, and that the states match.
func (k *killing) check(t *testing.T, round int, what string, wanted map[string]bool) {
	t.Helper()
	var list corev1.ConfigMapList
	if err := k.List(t.Context(), &list, client.InNamespace(k.namespace)); err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{} // of the objects, by resource
	for _, object := range list.Items {
		resource := object.Data["resource"]
		if resource == "" {
			continue
		}
		if other := ids[resource]; other != "" {
			t.Errorf("after the kill of %s resource %s exists twice: %s, %s", what, resource, other, object.Name)
		}
		ids[resource] = object.Name
		if !wanted[resource] || object.Data["round"] != fmt.Sprint(round) {
			t.Errorf("after the kill of %s, %s of round %s still exists", what, resource, object.Data["round"])
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(wanted)) {
		if ids[resource] == "" {
			t.Errorf("after the kill of %s, %s is missing", what, resource)
		}
	}
	for i := range killStacks {
		k.checkState(t, stackName(i), what, ids)
	}
	eventually(t, "no folders of runs are left", func() error {
		if left := slices.DeleteFunc(k.runs(t), func(run string) bool { return !k.idle(run) }); len(left) > 0 {
			return fmt.Errorf("%v are left", left)
		}
		return nil
	})
}

// idle reports whether no process works in the folder of a run. The operator retries the locked Stack continually, so its
// folder may be in use.
func (k *killing) idle(run string) bool {
	for _, p := range k.children() {
		if cwd, _ := os.Readlink(fmt.Sprintf("/proc/%d/cwd", p.pid)); strings.HasPrefix(cwd, run) {
			return false
		}
	}
	return true
}

// checkState checks that a stack's state matches the cluster, without pending operations and locks.
func (k *killing) checkState(t *testing.T, stack, what string, ids map[string]string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(k.state, ".pulumi", "stacks", stack, stack+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		Checkpoint struct {
			Latest struct {
				Resources []struct {
					URN    string `json:"urn"`
					ID     string `json:"id"`
					Type   string `json:"type"`
					Delete bool   `json:"delete"`
				} `json:"resources"`
				Pending []json.RawMessage `json:"pending_operations"`
			} `json:"latest"`
		} `json:"checkpoint"`
	}
	if err := json.Unmarshal(content, &state); err != nil {
		t.Fatal(err)
	}
	latest, found := state.Checkpoint.Latest, map[string]string{}
	for _, r := range latest.Resources {
		if r.Type != "kubernetes:core/v1:ConfigMap" {
			continue
		}
		found[r.URN[strings.LastIndex(r.URN, "::")+2:]] = strings.TrimPrefix(r.ID, k.namespace+"/")
		if r.Delete {
			t.Errorf("after the kill of %s the state of %s marks %s for deletion", what, stack, r.URN)
		}
	}
	own := maps.Clone(ids)
	maps.DeleteFunc(own, func(resource, _ string) bool { return !strings.HasPrefix(resource, stack+"-") })
	if !maps.Equal(found, own) {
		t.Errorf("after the kill of %s the state of %s contains %v, the cluster %v", what, stack, found, own)
	}
	if len(latest.Pending) > 0 {
		t.Errorf("after the kill of %s the state of %s has pending operations: %s", what, stack, latest.Pending)
	}
	locks, err := os.ReadDir(filepath.Join(k.state, ".pulumi", "locks", "organization", stack, stack))
	if len(locks) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the kill of %s the locks of %s are %v, %v", what, stack, locks, err)
	}
}
