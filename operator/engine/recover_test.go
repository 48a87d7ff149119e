package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/settle"
	"github.com/strata-platform/strata/test/long"
)

// within fails the test if a condition is not met within a minute.
func within(t *testing.T, what string, met func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return met(), nil })
	if err != nil {
		t.Fatalf("%s: not within a minute", what)
	}
}

// processes returns the command names of the processes with a HOME in the folder of
// runs, by process ID.
func (f fixture) processes(t *testing.T) map[int]string {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for _, dir := range entries {
		env, _ := os.ReadFile(filepath.Join(dir, "environ")) // The process may have ended.
		comm, _ := os.ReadFile(filepath.Join(dir, "comm"))
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && strings.Contains(string(env), "HOME="+f.Folders.Parent) {
			found[pid] = strings.TrimSpace(string(comm))
		}
	}
	return found
}

// kill kills the run's pulumi in the middle of its work.
func (f fixture) kill(t *testing.T) {
	t.Helper()
	for pid, name := range f.processes(t) {
		if name == "pulumi" {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// pod is a Program of one pod with a generated name. No node runs the pod, so its
// creation ends only if the provider does not wait for it.
const pod = `
resources:
  worker:
    type: kubernetes:core/v1:Pod
    properties:
      metadata: {namespace: %s, annotations: {pulumi.com/skipAwait: "%t", pulumi.com/deletionPropagationPolicy: background}}
      spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: none}]}
`

func TestObjectOfAKilledRunIsCreatedOnce(t *testing.T) {
	long.Test(t)
	for _, operation := range []engine.Operation{engine.Up, engine.Destroy} {
		t.Run("and then "+string(operation), func(t *testing.T) {
			f, c, request := kubernetesFixture(t)
			namespace := c.namespace(t)
			pods := func() int {
				list, err := c.CoreV1().Pods(namespace).List(context.Background(), metav1.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				return len(list.Items)
			}
			done := make(chan error, 1)
			go func() {
				_, err := f.Run(t.Context(), request(fmt.Sprintf(pod, namespace, false)))
				done <- err
			}()
			within(t, "the pod is made", func() bool { return pods() == 1 })
			f.kill(t)
			var failure *engine.Error
			if err := <-done; !errors.As(err, &failure) || failure.Reason != engine.Interrupted {
				t.Fatalf("error %v, want an interruption", err)
			}
			if left := f.processes(t); len(left) != 0 {
				t.Errorf("processes %v outlive the run", left)
			}

			req := request(fmt.Sprintf(pod, namespace, true))
			req.Operation, req.Interrupted = operation, true
			want := 1
			if operation == engine.Destroy {
				req.Program, want = nil, 0
			}
			result := f.mustRun(t, req)
			within(t, fmt.Sprintf("%d pods are there", want), func() bool { return pods() == want })
			if len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], "worker (kubernetes:core/v1:Pod)") {
				t.Errorf("warnings %q, want one about the pod", result.Warnings)
			}
			req.Interrupted = false
			if result := f.mustRun(t, req); result.Changes["create"]+result.Changes["update"]+result.Changes["delete"] != 0 {
				t.Errorf("changes %v of one run more, want none", result.Changes)
			}
		})
	}
}

func TestStoppedRunEndsWithAllItsProcesses(t *testing.T) {
	f, c, request := kubernetesFixture(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := f.Run(ctx, request(fmt.Sprintf(pod, c.namespace(t), false)))
		done <- err
	}()
	within(t, "the plugin runs", func() bool {
		for _, name := range f.processes(t) {
			if strings.HasPrefix(name, "pulumi-resource") {
				return true
			}
		}
		return false
	})
	stop()
	var failure *engine.Error
	if err := <-done; !errors.As(err, &failure) || failure.Reason != engine.Interrupted {
		t.Fatalf("error %v, want an interruption", err)
	}
	if left := f.processes(t); len(left) != 0 {
		t.Errorf("processes %v outlive the run", left)
	}
}

// state edits the state of a file backend.
func (f fixture) state(t *testing.T, edit func(latest map[string]any)) {
	t.Helper()
	path := filepath.Join(f.backend, ".pulumi", "stacks", "shop", "dev.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var state map[string]any
	if err := json.Unmarshal(data, &state); err != nil {
		t.Fatal(err)
	}
	edit(state["checkpoint"].(map[string]any)["latest"].(map[string]any))
	if data, err = json.Marshal(state); err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestOperationsOfAnInterruptedRunAreResolved(t *testing.T) {
	long.Test(t)
	f, c, request := kubernetesFixture(t)
	namespace := c.namespace(t)
	maps := c.CoreV1().ConfigMaps(namespace)
	req := request(fmt.Sprintf(settings, namespace, ""))
	names := func() (names []string) {
		list, err := maps.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			if item.Name != "kube-root-ca.crt" {
				names = append(names, item.Name)
			}
		}
		return names
	}
	// pending turns the last resource of the state into a pending operation.
	pending := func(kind string, change func(map[string]any)) {
		f.state(t, func(latest map[string]any) {
			all := latest["resources"].([]any)
			last := all[len(all)-1].(map[string]any)
			if kind == "creating" {
				latest["resources"] = all[:len(all)-1]
				delete(last, "id")
				delete(last, "outputs")
			}
			change(last)
			latest["pending_operations"] = []any{map[string]any{"resource": last, "type": kind}}
		})
	}
	same := func(map[string]any) {}
	remove := func() {
		if err := maps.DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	f.mustRun(t, req)
	before := names()
	req.Interrupted = true

	pending("creating", same)
	if result := f.mustRun(t, req); result.Changes["create"] != 0 || fmt.Sprint(names()) != fmt.Sprint(before) {
		t.Errorf("an object that was made: changes %v, objects %v, want it to be taken over", result.Changes, names())
	}
	pending("creating", same)
	remove()
	if result := f.mustRun(t, req); result.Changes["create"] != 1 || len(names()) != 1 {
		t.Errorf("an object that was not made: changes %v, objects %v, want it to be made", result.Changes, names())
	}
	pending("updating", same)
	remove()
	if result := f.mustRun(t, req); result.Changes["create"] != 1 || len(names()) != 1 {
		t.Errorf("an object that went during an update: changes %v, objects %v, want it to be made", result.Changes, names())
	}
	f.state(t, func(latest map[string]any) {
		for _, r := range latest["resources"].([]any) {
			if r := r.(map[string]any); r["type"] == "kubernetes:core/v1:ConfigMap" {
				r["initErrors"] = []string{settle.NotRead}
			}
		}
	})
	remove()
	if result := f.mustRun(t, req); result.Changes["create"] != 1 || len(names()) != 1 {
		t.Errorf("an object that was taken over and not read: changes %v, objects %v, want it to be made", result.Changes, names())
	}
	pending("creating", func(r map[string]any) {
		r["type"], r["urn"] = "aws:s3/bucket:Bucket", "urn:pulumi:dev::shop::aws:s3/bucket:Bucket::files"
	})
	remove()
	result := f.mustRun(t, req)
	if len(result.Warnings) != 1 || !strings.Contains(result.Warnings[0], "files (aws:s3/bucket:Bucket)") {
		t.Errorf("warnings %q, want one that names what cannot be found out", result.Warnings)
	}
	f.state(t, func(latest map[string]any) {
		if latest["pending_operations"] != nil {
			t.Errorf("operations %v are still pending", latest["pending_operations"])
		}
	})
}
