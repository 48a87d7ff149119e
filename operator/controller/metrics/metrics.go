// Package metrics counts Stacks and their runs for Prometheus.
package metrics

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

var (
	stacksActive = prometheus.NewDesc("stacks_active", "Stacks that the operator knows.", nil, nil)
	// As in upstream, each Stack has one series with the value 1 or 0. A namespace has at
	// most seriesPerNamespace of them.
	stacksFailing     = prometheus.NewDesc("stacks_failing", "Whether the last update of a Stack failed.", []string{"namespace", "name"}, nil)
	stacksReconciling = prometheus.NewDesc("stacks_reconciling", "Whether an update of a Stack is active or pending.", []string{"namespace", "name"}, nil)
	stacksStalled     = prometheus.NewDesc("stacks_stalled", "Whether the operator cannot apply a Stack until something changes.", []string{"namespace", "name"}, nil)
	programsActive    = prometheus.NewDesc("programs_active", "Programs that the operator knows.", nil, nil)
	runsActive        = prometheus.NewDesc("stack_runs_active", "Active runs.", nil, nil)
	runsWaiting       = prometheus.NewDesc("stack_runs_waiting", "Runs that are due and wait for other runs to end.", nil, nil)
)

const (
	// seriesPerNamespace bounds how many Stacks of a namespace have their own series, in
	// the order of their names, because a team may create any number of Stacks.
	seriesPerNamespace = 500

	// forgetRuns is how long the counters of a namespace without Stacks remain.
	forgetRuns = time.Hour
)

// Set holds the operator's metrics. A scrape counts the objects in the cache, so
// that no series of a deleted object remains.
type Set struct {
	cached client.Reader
	busy   func() (running, waiting int)

	runs    *prometheus.CounterVec
	seconds *prometheus.HistogramVec

	mu sync.Mutex
	// lastRun maps each namespace in the labels of runs to the time of its last run.
	lastRun map[string]time.Time
}

// New returns the metrics of the Stacks in a cache. busy returns the numbers of active and of waiting runs.
func New(cached client.Reader, busy func() (running, waiting int)) *Set {
	return &Set{
		cached: cached, busy: busy, lastRun: map[string]time.Time{},
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "stack_runs_total", Help: "Runs that have ended.",
		}, []string{"namespace", "operation", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "stack_run_duration_seconds", Help: "Duration of runs.",
			Buckets: []float64{1, 2, 5, 10, 30, 60, 300, 900, 3600},
		}, []string{"operation", "result"}),
	}
}

// Register registers the metrics until the caller calls unregister. The registry
// belongs to the process, which may call Run more than once.
func (m *Set) Register() (unregister func(), err error) {
	collectors := []prometheus.Collector{m, m.runs, m.seconds}
	unregister = func() {
		for _, c := range collectors {
			metrics.Registry.Unregister(c)
		}
	}
	for _, c := range collectors {
		if err := metrics.Registry.Register(c); err != nil {
			unregister()
			return nil, err
		}
	}
	return unregister, nil
}

// Ran counts a finished run.
func (m *Set) Ran(namespace, operation string, err error, took time.Duration) {
	result := string(v1.SucceededStackStateMessage)
	if err != nil {
		result = string(v1.FailedStackStateMessage)
	}
	m.mu.Lock()
	m.lastRun[namespace] = time.Now()
	m.runs.WithLabelValues(namespace, operation, result).Inc()
	m.mu.Unlock()
	m.seconds.WithLabelValues(operation, result).Observe(took.Seconds())
}

// Describe implements prometheus.Collector.
func (m *Set) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{stacksActive, stacksFailing, stacksReconciling, stacksStalled, programsActive, runsActive, runsWaiting} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (m *Set) Collect(out chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	running, waiting := m.busy()
	gauge(runsActive, float64(running))
	gauge(runsWaiting, float64(waiting))

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var stacks v1.StackList
	if m.cached.List(ctx, &stacks, client.UnsafeDisableDeepCopy) == nil {
		gauge(stacksActive, float64(len(stacks.Items)))
		slices.SortFunc(stacks.Items, func(a, b v1.Stack) int { return strings.Compare(a.Name, b.Name) })
		shown := map[string]int{}
		for i := range stacks.Items {
			stack := &stacks.Items[i]
			if shown[stack.Namespace]++; shown[stack.Namespace] > seriesPerNamespace {
				continue
			}
			last := stack.Status.LastUpdate
			is := func(kind string) bool { return meta.IsStatusConditionTrue(stack.Status.Conditions, kind) }
			gauge(stacksFailing, number(last != nil && last.State == v1.FailedStackStateMessage), stack.Namespace, stack.Name)
			gauge(stacksReconciling, number(is(v1.ReconcilingCondition)), stack.Namespace, stack.Name)
			gauge(stacksStalled, number(is(v1.StalledCondition)), stack.Namespace, stack.Name)
		}
		m.forget(shown)
	}
	programs := &metav1.PartialObjectMetadataList{}
	programs.SetGroupVersionKind(v1.GroupVersion.WithKind("ProgramList"))
	if m.cached.List(ctx, programs, client.UnsafeDisableDeepCopy) == nil {
		gauge(programsActive, float64(len(programs.Items)))
	}
}

// forget drops the counters of namespaces whose last run is longer ago than forgetRuns,
// unless living says that they have Stacks.
func (m *Set) forget(living map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.lastRun, func(namespace string, last time.Time) bool {
		gone := living[namespace] == 0 && time.Since(last) > forgetRuns
		if gone {
			m.runs.DeletePartialMatch(prometheus.Labels{"namespace": namespace})
		}
		return gone
	})
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
