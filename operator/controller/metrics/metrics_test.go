package metrics

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// listing is a cache that contains only these Stacks.
type listing struct {
	client.Reader
	stacks []v1.Stack
}

func (l *listing) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if stacks, ok := list.(*v1.StackList); ok {
		stacks.Items = append([]v1.Stack(nil), l.stacks...)
	}
	return nil
}

func (l *listing) add(namespace string, count int) {
	for i := range count {
		stack := v1.Stack{}
		stack.Namespace, stack.Name = namespace, fmt.Sprint("random-", i)
		l.stacks = append(l.stacks, stack)
	}
}

// series returns the number of a collector's series of a metric.
func series(collector prometheus.Collector, name string) (count int) {
	out := make(chan prometheus.Metric)
	go func() {
		defer close(out)
		collector.Collect(out)
	}()
	for metric := range out {
		if strings.Contains(metric.Desc().String(), `"`+name+`"`) {
			count++
		}
	}
	return count
}

func idle() (running, waiting int) { return 0, 0 }

func TestSeriesOfATeamAreBounded(t *testing.T) {
	cached := &listing{}
	m := New(cached, idle)
	cached.add("other", 3)
	cached.add("hostile", 10_000)
	if got, want := series(m, "stacks_failing"), seriesPerNamespace+3; got != want {
		t.Errorf("%d series, want %d", got, want)
	}
	cached.stacks = nil
	cached.add("other", 3)
	if got := series(m, "stacks_failing"); got != 3 {
		t.Errorf("%d series, want those of the 3 Stacks that are left", got)
	}
}

func TestCountersOfDeletedTeamsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cached := &listing{}
		m := New(cached, idle)
		cached.add("living", 1)
		for _, namespace := range []string{"living", "gone"} {
			m.Ran(namespace, "up", nil, time.Second)
		}
		series(m, "stacks_failing")
		if got := series(m.runs, "stack_runs_total"); got != 2 {
			t.Fatalf("%d series of runs, want 2: the last run was just now", got)
		}
		<-time.After(forgetRuns + time.Second) // the fake clock of testing/synctest
		series(m, "stacks_failing")
		if got := series(m.runs, "stack_runs_total"); got != 1 || len(m.lastRun) != 1 {
			t.Errorf("%d series of runs and %d namespaces, want that of the living one", got, len(m.lastRun))
		}
	})
}
