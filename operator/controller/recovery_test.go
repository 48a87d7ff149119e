package controller_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/long"
)

// lock adds a lock to the stack's state, as left by a process that no longer runs.
func (tm *team) lock(t *testing.T, host string) {
	t.Helper()
	locks := filepath.Join(tm.state, ".pulumi", "locks", "organization", "shop", "dev")
	if err := os.MkdirAll(locks, 0o700); err != nil {
		t.Fatal(err)
	}
	content := fmt.Sprintf(`{"pid":4194399,"username":"somebody","hostname":%q,"timestamp":"2026-01-02T03:04:05Z"}`, host)
	if err := os.WriteFile(filepath.Join(locks, "0.json"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestKilledOperatorsLockIsCleared(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	tm := newTeam(t, c)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack)
	stop := startOperator(t, c)
	object := tm.await(t, "shop-dev", "Ready", ready)
	stop()

	// This is what an operator leaves if it is killed during a run of a changed Program.
	tm.apply(t, &v1.Program{}, strings.ReplaceAll(program, "size: ${size}", "grown: ${size}"))
	tm.lock(t, host)
	before := object.DeepCopy()
	object.Status.CurrentUpdate = &v1.CurrentStackUpdate{Name: "shop-dev-1", Generation: object.Generation}
	if err := c.Status().Patch(t.Context(), object, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}

	startOperator(t, c)
	got := tm.await(t, "shop-dev", "run again", func(s *v1.Stack) bool { return ready(s) && s.Status.Outputs["grown"].Raw != nil })
	if got.Status.CurrentUpdate != nil {
		t.Errorf("currentUpdate %+v of a Stack that is Ready", got.Status.CurrentUpdate)
	}
}

func TestALockOfAnotherProcessStays(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.lock(t, "elsewhere")
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack)
	got := tm.await(t, "shop-dev", "stalled", func(s *v1.Stack) bool {
		return condition(s, v1.StalledCondition).Status == metav1.ConditionTrue
	})
	stalled := condition(got, v1.StalledCondition)
	if stalled.Reason != v1.StalledConflictReason || !strings.Contains(stalled.Message, "somebody@elsewhere, process 4194399") {
		t.Errorf("Stalled for %s: %s, want %s and who holds the lock", stalled.Reason, stalled.Message, v1.StalledConflictReason)
	}
	checkKstatus(t, got, "Failed")
}
