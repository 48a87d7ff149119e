package operator_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/bench/figure"
)

const (
	// firstBound and againBound limit the time of a Stack from the write to Ready, as a multiple of a bare run.
	firstBound, againBound = 1.3, 1.2

	// rateBound limits the time of many Stacks, as a multiple of bare runs.
	rateBound = 1.0

	// memoryBound limits the memory of the operator alone. growthBound limits the increase from few to all Stacks. Both
	// are in MB.
	memoryBound, growthBound = 60.0, 6.0

	manyStacks, fewStacks = 200, 10
	parallelism           = 2
)

// threeResources is the body of a Program. Pulumi chooses the names of its objects, so that many Stacks can run it.
const threeResources = `
  resources:
    settings:
      type: kubernetes:core/v1:ConfigMap
      properties: {data: {colour: red}}
    more:
      type: kubernetes:core/v1:ConfigMap
      properties: {data: {colour: "${settings.metadata.name}"}}
    login:
      type: kubernetes:core/v1:Secret
      properties: {stringData: {user: web}}
  outputs:
    name: ${settings.metadata.name}
`

// stackOf returns a Stack that runs a Program under the team's account.
func stackOf(name, program string) string {
	return fmt.Sprintf(`
metadata: {name: %[1]s}
spec:
  stack: %[1]s
  programRef: {name: %[2]s}
  serviceAccountName: web
  destroyOnFinalize: true
  envRefs:
    PULUMI_BACKEND_URL: {type: Secret, secret: {name: context, key: backend}}
    PULUMI_CONFIG_PASSPHRASE: {type: Secret, secret: {name: context, key: passphrase}}
`, name, program)
}

// bare runs the same Program as the operator with the pulumi command alone.
type bare struct {
	executable, dir string
	env             []string
}

// newBare creates the folder in which a user would call pulumi.
func newBare(b *testing.B, tm *team) *bare {
	b.Helper()
	r := &bare{executable: filepath.Join(tm.tools, "pulumi"), dir: b.TempDir()}
	state := filepath.Join(r.dir, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		b.Fatal(err)
	}
	kubeconfig := filepath.Join(r.dir, "kubeconfig")
	for path, content := range map[string][]byte{
		kubeconfig:                          tm.kubeconfig(b, tm.namespace, "web"),
		filepath.Join(r.dir, "Pulumi.yaml"): []byte("name: three\nruntime: yaml\n" + strings.ReplaceAll(threeResources, "\n  ", "\n")),
	} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	r.env = []string{
		"PATH=" + tm.tools, "HOME=" + r.dir, "PULUMI_HOME=" + filepath.Join(r.dir, "home"), "KUBECONFIG=" + kubeconfig,
		"PULUMI_BACKEND_URL=file://" + state, "PULUMI_CONFIG_PASSPHRASE=" + passphrase,
		"PULUMI_SKIP_UPDATE_CHECK=true", "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true",
	}
	return r
}

func (r *bare) pulumi(b *testing.B, args ...string) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), r.executable, append([]string{"--non-interactive"}, args...)...)
	cmd.Dir, cmd.Env = r.dir, r.env
	if out, err := cmd.CombinedOutput(); err != nil {
		// Errorf instead of Fatalf, because several goroutines run at once.
		b.Errorf("pulumi %v: %v\n%s", args, err, out)
	}
}

// first creates a stack and runs its first up.
func (r *bare) first(b *testing.B, stack string) {
	b.Helper()
	r.pulumi(b, "stack", "select", "--create", stack)
	r.again(b, stack)
}

// again runs an up of an existing stack.
func (r *bare) again(b *testing.B, stack string) {
	b.Helper()
	r.pulumi(b, "up", "--stack", stack, "--yes", "--skip-preview")
}

// BenchmarkStack alternates between a Stack, measured from the write to Ready, and a bare run of its Program.
func BenchmarkStack(b *testing.B) {
	const turns = 7
	c := startCluster(b)
	tm := newTeam(b, c)
	startOperator(b, c)
	direct := newBare(b, tm)
	tm.apply(b, &v1.Program{}, "metadata: {name: three}\nprogram:"+threeResources)

	applied := func(name string) time.Duration {
		began := time.Now()
		tm.apply(b, &v1.Stack{}, stackOf(name, "three"))
		tm.await(b, name, "Ready", ready)
		return time.Since(began)
	}
	reran := func(name, request string) time.Duration {
		stack := &v1.Stack{}
		stack.Namespace, stack.Name = tm.namespace, name
		patch := client.RawPatch("application/merge-patch+json",
			fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1.ReconcileRequestAnnotation, request))
		began := time.Now()
		if err := tm.Patch(b.Context(), stack, patch); err != nil {
			b.Fatal(err)
		}
		tm.await(b, name, "run again", func(s *v1.Stack) bool { return ready(s) && s.Status.LastUpdate.ReconcileRequest == request })
		return time.Since(began)
	}
	// The first run of each reads the tools from the disk.
	direct.first(b, "warm")
	applied("warm")

	var bareFirst, bareAgain, first, again []time.Duration
	for turn := range turns {
		name := fmt.Sprintf("turn-%d", turn)
		bareFirst = append(bareFirst, timed(func() { direct.first(b, name) }))
		first = append(first, applied(name))
		bareAgain = append(bareAgain, timed(func() { direct.again(b, name) }))
		again = append(again, reran(name, "again"))
	}
	figure.Seconds(b, "first up of bare pulumi, three resources", median(bareFirst), 0)
	figure.Seconds(b, "up of bare pulumi without a change", median(bareAgain), 0)
	figure.Seconds(b, "Stack from the write to Ready", median(first), 0)
	figure.Seconds(b, "Stack run again without a change", median(again), 0)
	figure.AtMost(b, "Stack to Ready against an up of bare pulumi", ratio(median(first), median(bareFirst)), firstBound, "x")
	figure.AtMost(b, "Stack without a change against an up of bare pulumi", ratio(median(again), median(bareAgain)), againBound, "x")
}

// BenchmarkManyStacks compares the rate of many new Stacks with that of bare runs at the same parallelism, half of them
// before and half after. It also measures the operator's memory.
func BenchmarkManyStacks(b *testing.B) {
	const bareRuns = 40
	c := startCluster(b)
	tm := newTeam(b, c)
	o := startOperator(b, c, fmt.Sprintf("--concurrent=%d", parallelism))
	direct := newBare(b, tm)
	tm.apply(b, &v1.Program{}, "metadata: {name: three}\nprogram:"+threeResources)

	runs := func(from, to int) time.Duration {
		return timed(func() {
			names := make(chan string, to-from)
			for i := from; i < to; i++ {
				names <- fmt.Sprintf("bare-%d", i)
			}
			close(names)
			var workers sync.WaitGroup
			for range parallelism {
				workers.Go(func() {
					for name := range names {
						direct.first(b, name)
					}
				})
			}
			workers.Wait()
		})
	}
	stacks := func(from, to int) time.Duration {
		return timed(func() {
			for i := from; i < to; i++ {
				tm.apply(b, &v1.Stack{}, stackOf(fmt.Sprintf("stack-%03d", i), "three"))
			}
			tm.awaitReady(b, to)
		})
	}
	stacks(0, fewStacks)
	few, _ := o.memory(b)
	bareTook := runs(0, bareRuns/2)
	took := stacks(fewStacks, manyStacks)
	many, resident := o.memory(b)
	bareTook += runs(bareRuns/2, bareRuns)

	perBare, perStack := bareTook/bareRuns, took/(manyStacks-fewStacks)
	figure.AtMost(b, "runs of bare pulumi", 60/perBare.Seconds(), 0, "/min")
	figure.AtMost(b, "Stacks", 60/perStack.Seconds(), 0, "/min")
	figure.AtMost(b, "200 Stacks against as many runs of bare pulumi", ratio(perStack, perBare), rateBound, "x")
	figure.AtMost(b, "operator with 200 Stacks: private memory", many/1e6, memoryBound, "MB")
	figure.AtMost(b, "operator with 200 Stacks: with the program's pages, which the supervisor shares", resident/1e6, 0, "MB")
	figure.AtMost(b, "operator with 200 Stacks: more memory than with 10", (many-few)/1e6, growthBound, "MB")
}

// awaitReady waits until the team has count Stacks, all of them Ready.
func (tm *team) awaitReady(b *testing.B, count int) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	events, err := tm.Watch(ctx, &v1.StackList{}, client.InNamespace(tm.namespace))
	if err != nil {
		b.Fatal(err)
	}
	defer events.Stop()
	reached := map[string]bool{}
	for event := range events.ResultChan() {
		if stack, ok := event.Object.(*v1.Stack); ok && ready(stack) {
			if reached[stack.Name] = true; len(reached) == count {
				return
			}
		}
	}
	b.Fatalf("%d of %d Stacks are Ready", len(reached), count)
}

func timed(do func()) time.Duration {
	began := time.Now()
	do()
	return time.Since(began)
}

func median(durations []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(durations))[len(durations)/2]
}

func ratio(a, b time.Duration) float64 { return a.Seconds() / b.Seconds() }
