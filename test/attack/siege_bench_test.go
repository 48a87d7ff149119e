package attack

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/test/bench/figure"
)

const (
	// mostSlowdown is how many times its quiet time a team's push may take to be Ready while another team does its worst.
	mostSlowdown = 3
	// purgeBound is how long `down --purge` may take meanwhile.
	purgeBound = time.Minute
	// siegePushes is how often the victim pushes, in quiet times and during the siege.
	siegePushes = 5
)

// BenchmarkSiege measures what the victim notices of a team that does its worst, all at the same time.
func BenchmarkSiege(b *testing.B) {
	f := newField(b)
	ctx := b.Context()
	f.must(f.web.program(ctx))
	quiet := f.pushes(ctx)
	for _, s := range []siege{
		pushed("resources: ['{BAIT}/slow.yaml']"), pushed("configMapGenerator: [{name: x, files: ['x={BAIT}/huge']}]"),
		endless(12), crowd(500), largeOutputs(20),
	} {
		// A siege that is refused has failed already. What it made goes with the platform.
		if _, err := s(ctx, f); err != nil && !errors.Is(err, errRefused) {
			b.Fatal(err)
		}
	}
	stop, err := pushing(time.Second)(ctx, f)
	f.must(err)
	under := f.pushes(ctx)
	f.must(stop())
	b.Logf("quiet %v, under siege %v", quiet, under)
	middle := siegePushes / 2
	figure.Seconds(b, "push to Ready, in quiet times", quiet[middle], attackTimeout)
	figure.AtMost(b, "push to Ready, while a team does its worst: times the quiet time", under[middle].Seconds()/quiet[middle].Seconds(), mostSlowdown, "times")
	began := time.Now()
	said, err := f.platform.Command(ctx, "down", "--purge", "--yes").CombinedOutput()
	b.Logf("%s", said)
	f.must(err)
	figure.Seconds(b, "down --purge, while a team does its worst", time.Since(began), purgeBound)
}

// largeOutputs starts so many Programs with outputs of 4 MB.
func largeOutputs(count int) siege {
	return func(ctx context.Context, f *field) (func() error, error) {
		return f.mallory.many(ctx, count, doublings()+"  outputs: {large: '${v12}'}", "")
	}
}

// siegeProgram is the Stack whose Program the victim changes by pushes.
const siegeProgram = "siege"

// program pushes a Program and its Stack, which are then the team's sync's.
func (t *team) program(ctx context.Context) error { return t.change(ctx, "first") }

// change pushes the Program with another output, and waits until the Stack has it.
func (t *team) change(ctx context.Context, value string) error {
	_, err := t.push(ctx, map[string]string{
		"kustomization.yaml": kustomizationHead + "resources: [siege.yaml]\n",
		"siege.yaml":         program(siegeProgram, "  outputs: {value: "+value+"}") + "---\n" + t.stack(siegeProgram, ""),
	})
	if err != nil {
		return err
	}
	return eventually(ctx, "the Stack has output "+value, func(ctx context.Context) (bool, error) {
		stack, err := t.client.Resource(stacks).Namespace(t.namespace).Get(ctx, siegeProgram, metav1.GetOptions{})
		if err != nil {
			return false, client.IgnoreNotFound(err)
		}
		output, _, _ := unstructured.NestedString(stack.Object, "status", "outputs", "value")
		return output == value && condition(stack, "Ready")["status"] == "True", nil
	})
}

// pushes are the times, in order, of several pushes of the victim's until each was Ready.
func (f *field) pushes(ctx context.Context) (took []time.Duration) {
	f.Helper()
	for range siegePushes {
		began := time.Now()
		f.must(f.web.change(ctx, unique()))
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took
}
