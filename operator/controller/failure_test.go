package controller_test

import (
	"log/slog"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller"
	"github.com/strata-platform/strata/test/long"
)

// startLoggedOperator runs the operator and returns its log.
func startLoggedOperator(t *testing.T, c *cluster) *buffer {
	t.Helper()
	logs := &buffer{}
	startOperatorWith(t, c, func(opts *controller.Options) { opts.Log = slog.New(slog.NewTextHandler(logs, nil)) })
	return logs
}

func TestAFailedRunIsReportedLoggedCountedAndTriedAgain(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	logs := startLoggedOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, "metadata: {name: shop}\nprogram:\n  outputs: {a: {fn::fileAsset: nothing}}\n")
	tm.apply(t, &v1.Stack{}, stackHead)
	tm.await(t, "shop-dev", "failed twice", func(s *v1.Stack) bool {
		last := s.Status.LastUpdate
		return last != nil && last.State == v1.FailedStackStateMessage && last.Failures > 0 &&
			condition(s, v1.ReconcilingCondition).Reason == v1.ReconcilingRetryReason
	})
	if runs := gather(t, tm.namespace)["stack_runs_total"]; len(runs) != 1 || runs[0] != 2 {
		t.Errorf("stack_runs_total is %v, want 2 of one kind", runs)
	}
	if lines := linesWith(logs, tm.namespace, "run failed"); len(lines) != 2 || !strings.Contains(lines[0], "level=ERROR") || !strings.Contains(lines[0], "nothing") {
		t.Errorf("the log has %q, want both failures", lines)
	}
}

func TestAStalledStackIsLoggedOnce(t *testing.T) {
	c := startCluster(t)
	logs := startLoggedOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Stack{}, stackHead+"  environment: [dev]\n")
	tm.await(t, "shop-dev", "stalled", func(s *v1.Stack) bool { return condition(s, v1.StalledCondition).Status == metav1.ConditionTrue })
	tm.apply(t, &v1.Program{}, "metadata: {name: shop}\nprogram: {}\n")
	if lines := linesWith(logs, tm.namespace, "the Stack is stalled"); len(lines) != 1 || !strings.Contains(lines[0], v1.StalledSpecInvalidReason) {
		t.Errorf("the log has %q, want one line", lines)
	}
}

func TestARunIsReportedBeforeItBegins(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.endless(t)
	tm.apply(t, &v1.Stack{}, stackHead)
	tm.await(t, "shop-dev", "reconciling", func(s *v1.Stack) bool {
		reconciling := condition(s, v1.ReconcilingCondition)
		running := s.Status.CurrentUpdate != nil && reconciling.Status == metav1.ConditionTrue &&
			reconciling.Reason == v1.ReconcilingProcessingReason && strings.Contains(reconciling.Message, "up is running")
		if !running && s.Status.LastUpdate != nil {
			t.Errorf("an update has ended, and none was reported before: %+v", s.Status)
		}
		return running
	})
}

// linesWith returns the lines of a log that contain all texts.
func linesWith(logs *buffer, texts ...string) []string {
	var found []string
	for line := range strings.Lines(logs.String()) {
		matches := true
		for _, text := range texts {
			matches = matches && strings.Contains(line, text)
		}
		if matches {
			found = append(found, line)
		}
	}
	return found
}
