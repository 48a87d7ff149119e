package controller_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller"
	"github.com/strata-platform/strata/test/long"
)

// requestDrift requests a drift check of the Stack shop-dev and returns the Stack after the check.
func (tm *team) requestDrift(t *testing.T, request string) *v1.Stack {
	t.Helper()
	stack := &v1.Stack{}
	stack.Namespace, stack.Name = tm.namespace, "shop-dev"
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1.DriftRequestAnnotation, request)
	if err := tm.Patch(t.Context(), stack, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	return tm.await(t, "shop-dev", "checked", func(s *v1.Stack) bool { return s.Status.Drift != nil && s.Status.Drift.Request == request })
}

func TestDriftIsFoundAndRepairedIfTheStackSaysSo(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack)
	tm.await(t, "shop-dev", "Ready", ready)
	if got := condition(tm.requestDrift(t, "first"), v1.DriftedCondition); got.Reason != v1.NoDriftReason {
		t.Errorf("an untouched Stack: %+v", got)
	}
	settings, _ := tm.configMap(t, "settings")
	tm.remove(t, settings)
	checked := tm.requestDrift(t, "second")
	if got := condition(checked, v1.DriftedCondition); got.Reason != v1.DriftFoundReason || !strings.Contains(got.Message, "no longer exists") || !ready(checked) {
		t.Errorf("with a deleted ConfigMap: %+v, ready %t", got, ready(checked))
	}
	if _, there := tm.configMap(t, "settings"); there {
		t.Error("the check repaired the drift")
	}

	tm.apply(t, &v1.Stack{}, stack+"  refresh: true\n")
	tm.await(t, "shop-dev", "repaired", func(s *v1.Stack) bool { return ready(s) && s.Status.Drift == nil })
	settings, there := tm.configMap(t, "settings")
	if !there {
		t.Fatal("an update with refresh does not repair the drift")
	}
	// From now on the check itself leads to the repair.
	tm.remove(t, settings)
	tm.requestDrift(t, "third")
	tm.await(t, "shop-dev", "repaired", func(s *v1.Stack) bool {
		_, there := tm.configMap(t, "settings")
		return there && ready(s) && s.Status.Drift == nil
	})
}

func TestDriftIsFoundOnSchedule(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperatorWith(t, c, func(opts *controller.Options) { opts.DriftEvery = time.Second })
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack)
	tm.await(t, "shop-dev", "Ready", ready)
	settings, _ := tm.configMap(t, "settings")
	tm.remove(t, settings)
	tm.await(t, "shop-dev", "Drifted", func(s *v1.Stack) bool { return condition(s, v1.DriftedCondition).Reason == v1.DriftFoundReason })
}

// A check that never ends holds the only slot. Another team's run gets the slot, and so does a run of the Stack itself.
func TestADriftCheckKeepsNoRunWaiting(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	folders := t.TempDir()
	startOperatorWith(t, c, func(opts *controller.Options) {
		opts.MaxConcurrent, opts.WorkDir = 1, folders
		t.Setenv("PATH", hangingRefresh(t, c))
	})
	tm, other := newTeam(t, c), newTeam(t, c)
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack)
	tm.await(t, "shop-dev", "Ready", ready)
	check := func(request string) {
		t.Helper()
		object := &v1.Stack{}
		object.Namespace, object.Name = tm.namespace, "shop-dev"
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1.DriftRequestAnnotation, request)
		if err := tm.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
		err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
			states, err := filepath.Glob(filepath.Join(folders, "*", "state"))
			return len(states) > 0, err
		})
		if err != nil {
			t.Fatalf("no check has begun: %v", err)
		}
	}
	check("one")
	other.apply(t, &v1.Program{}, program)
	other.apply(t, &v1.Stack{}, stack)
	other.await(t, "shop-dev", "Ready", ready)

	tm.apply(t, &v1.Stack{}, stack)
	tm.await(t, "shop-dev", "Ready", ready)
	check("two")
	tm.apply(t, &v1.Stack{}, stack+"  refresh: false\n  resyncFrequencySeconds: 3600\n")
	changed := tm.await(t, "shop-dev", "applied", func(s *v1.Stack) bool {
		return ready(s) && s.Status.LastUpdate.Generation == s.Generation
	})
	if changed.Status.Drift != nil {
		t.Errorf("a check that gave way left %+v", changed.Status.Drift)
	}
}

// hangingRefresh returns a PATH with the tools, whose pulumi never ends a refresh.
func hangingRefresh(t *testing.T, c *cluster) string {
	t.Helper()
	dir := t.TempDir()
	tools, err := os.ReadDir(c.tools)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		name := tool.Name()
		if name == "pulumi" {
			name = "pulumi-real"
		}
		target, err := filepath.EvalSymlinks(filepath.Join(c.tools, tool.Name()))
		if err == nil {
			err = os.Symlink(target, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\ncase \"$*\" in *--preview-only*) exec /bin/sleep 1000;; esac\nexec '" + filepath.Join(dir, "pulumi-real") + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "pulumi"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}
