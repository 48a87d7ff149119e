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
	// mostSlowdown is the maximum ratio between the duration of a team's push during an attack of another team, until
	// Ready, and its quiet duration.
	mostSlowdown = 3
	// purgeBound limits a `down --purge` during the attack.
	purgeBound = time.Minute
	// siegePushes is the number of pushes of the victim, both in quiet times and during the siege.
	siegePushes = 5
)

// BenchmarkSiege measures the effect on the victim when a team runs all of its attacks at the same time.
func BenchmarkSiege(b *testing.B) {
	f := newField(b)
	ctx := b.Context()
	f.must(f.web.program(ctx))
	quiet := f.pushes(ctx)
	for _, s := range []siege{
		pushed("resources: ['{BAIT}/slow.yaml']"), pushed("configMapGenerator: [{name: x, files: ['x={BAIT}/huge']}]"),
		endless(12), crowd(500), largeOutputs(20),
	} {
		// A stopped siege has failed already. Its objects are deleted with the platform.
		if _, err := s(ctx, f); err != nil && !errors.Is(err, errStopped) {
			b.Fatal(err)
		}
	}
	stop, err := pushing(time.Second)(ctx, f)
	f.must(err)
	under := f.pushes(ctx)
	f.must(stop())
	b.Logf("quiet %v, under siege %v", quiet, under)
	middle := siegePushes / 2
	figure.Seconds(b, "push to Ready without attacks", quiet[middle], attackTimeout)
	figure.AtMost(b, "push to Ready while a team attacks, against without attacks", under[middle].Seconds()/quiet[middle].Seconds(), mostSlowdown, "times")
	began := time.Now()
	said, err := f.platform.Command(ctx, "down", "--purge", "--yes").CombinedOutput()
	b.Logf("%s", said)
	f.must(err)
	figure.Seconds(b, "down --purge while a team attacks", time.Since(began), purgeBound)
}

// largeOutputs starts count Programs with outputs of 4 MB.
func largeOutputs(count int) siege {
	return func(ctx context.Context, f *field) (func() error, error) {
		return f.mallory.many(ctx, count, doublings()+"  outputs: {large: '${v12}'}", "")
	}
}

// siegeProgram is the name of the Stack whose Program the victim changes by pushes.
const siegeProgram = "siege"

// program pushes a Program and its Stack, which the team's sync then applies.
func (t *team) program(ctx context.Context) error { return t.change(ctx, "first") }

// change pushes the Program with another output, and waits until the Stack has that output.
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

// pushes returns the sorted durations of several pushes of the victim, each until Ready.
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
