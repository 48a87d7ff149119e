// Package crash kills the processes of a platform, which the strata command runs, and checks that the platform recovers.
package crash

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/test/long"
	"github.com/strata-platform/strata/test/stratatest"
)

func TestMain(m *testing.M) { os.Exit(stratatest.Main(m)) }

// recoverTimeout is generous, because a machine that runs other tests at the same time is slow.
const recoverTimeout = 4 * time.Minute

// platform is a platform of its own with the checks of these tests.
type platform struct {
	*stratatest.Platform
	t *testing.T
}

func (p platform) status() supervisor.Status {
	p.t.Helper()
	var s supervisor.Status
	if err := json.Unmarshal(p.Run("local", "status", "-o", "json"), &s); err != nil {
		p.t.Fatal(err)
	}
	return s
}

// eventually waits until check returns nil. On timeout it fails with the last error.
func (p platform) eventually(what string, check func() error) {
	p.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(p.t.Context(), 200*time.Millisecond, recoverTimeout, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		p.t.Fatalf("timeout: wait until %s: %v", what, last)
	}
}

// ready returns an error if `strata status` does not report a ready platform.
func (p platform) ready() error {
	_, err := p.Try(p.t.Context(), "status")
	return err
}

// left returns an error for the remaining processes of the home, found by their arguments or their environment.
func (p platform) left() error {
	var found []string
	for _, file := range []string{"cmdline", "environ"} {
		paths, _ := filepath.Glob("/proc/[0-9]*/" + file)
		for _, path := range paths {
			content, _ := os.ReadFile(path)
			pid := filepath.Base(filepath.Dir(path))
			// This test's own commands have the home in STRATA_HOME.
			text := strings.ReplaceAll(string(content), "STRATA_HOME="+p.Home, "")
			if pid != strconv.Itoa(os.Getpid()) && strings.Contains(text, p.Home) {
				found = append(found, pid)
			}
		}
	}
	if len(found) > 0 {
		return fmt.Errorf("these processes run: %v", found)
	}
	return nil
}

// served returns an error for a port on which a process still listens.
func served(ports map[string]int) error {
	for name, port := range ports {
		conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return errors.Join(fmt.Errorf("a process listens on port %d of %s", port, name), conn.Close())
		}
	}
	return nil
}

// killedAt is the number of started resources of layer 1 at which the test kills its up, in the middle of the layer.
const killedAt = 5

// TestAPlatformRecoversFromKillsWithoutLosses kills two runs of layer 1, one of layer 2, and then all processes of the
// platform. TestSoakLayersAreKilledAgainAndAgain kills the layers at many more points.
func TestAPlatformRecoversFromKillsWithoutLosses(t *testing.T) {
	long.Test(t)
	p := platform{stratatest.NewWithTools(t), t}
	p.killBeforeDestroy(killedAt)
	if !p.killAt(killedAt, []string{"layer", "up", bootstrapLayer.name}) {
		t.Fatal("the up ended before its kill")
	}
	p.killUp()
	p.Run("up")
	for _, l := range []layer{bootstrapLayer, platformLayer} {
		p.checkWhole(l)
	}
	db := p.database()
	db.write(1)
	before, objects := p.status(), p.objects()
	names := []string{}
	for _, process := range before.Processes {
		names = append(names, process.Name)
	}
	for _, want := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "sql-", "pods/flux-system_source-controller", "pods/pulumi-kubernetes-operator_"} {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, want) }) {
			t.Fatalf("the status shows %v, but not %s", names, want)
		}
	}

	// Kill every child at once.
	began := time.Now()
	for _, process := range before.Processes {
		if err := syscall.Kill(process.Pid, syscall.SIGKILL); err != nil {
			t.Fatalf("kill %s: %v", process.Name, err)
		}
	}
	p.eventually("all processes run again, and the status shows their restarts", func() error { return p.restarted(before) })
	t.Logf("%d killed processes run again after %.1fs", len(before.Processes), time.Since(began).Seconds())
	p.eventually("the platform is ready", p.ready)
	p.checkObjects(objects)
	db.check(1)
	db.write(2)

	// Kill the supervisor, like a user's `kill -9` or the kernel's OOM killer.
	if err := syscall.Kill(before.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.Run("local", "start")
	p.eventually("the platform is ready", p.ready)
	p.checkObjects(objects)
	db.check(2)
	if after := p.status(); after.Pid == before.Pid {
		t.Error("the supervisor has survived the kill")
	}

	other := platform{stratatest.New(t), t}
	other.Run("local", "start")
	if p.left() == nil || served(before.Ports) == nil {
		t.Fatal("the test finds no process of the running platform")
	}
	p.Run("local", "stop")
	if err := p.left(); err != nil {
		t.Errorf("after the stop %v", err)
	}
	if err := served(before.Ports); err != nil {
		t.Errorf("after the stop %v", err)
	}
	if s := other.status(); !s.ControlPlane.Ready || !s.Node.Ready || slices.ContainsFunc(s.Processes, restartedOnce) {
		t.Errorf("the stop of one platform has changed another: %+v", s)
	}
}

// killBeforeDestroy kills an up of layer 1, and then destroys the layer without another up.
func (p platform) killBeforeDestroy(point int) {
	p.t.Helper()
	if !p.killAt(point, []string{"layer", "up", bootstrapLayer.name}) {
		p.t.Fatal("the up ended before its kill")
	}
	p.logLeft(bootstrapLayer)
	p.Run("layer", "destroy", bootstrapLayer.name, "--yes")
	p.checkDestroyed()
}

// killUp kills `strata up` during layer 2. The kill leaves plugins of Pulumi running.
func (p platform) killUp() {
	p.t.Helper()
	up := p.Command(p.t.Context(), "up")
	if err := up.Start(); err != nil {
		p.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = up.Wait()
	}()
	plugin := 0
	p.eventually("a plugin of layer 2 runs", func() error {
		for pid, process := range p.Processes() {
			if strings.Contains(process.Line, "pulumi-resource-kubernetes") {
				plugin = pid
				return nil
			}
		}
		return errors.New("no plugin runs")
	})
	if err := up.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	<-ended
	p.t.Cleanup(func() {
		if !p.t.Failed() {
			if content, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", plugin)); err == nil && strings.Contains(string(content), p.Home) {
				p.t.Errorf("the plugin, pid %d, still runs", plugin)
			}
		}
	})
}

// restarted returns an error if a process of a status does not run again with another process ID, or if the new status
// does not show its exit.
func (p platform) restarted(before supervisor.Status) error {
	now := p.status()
	for _, old := range before.Processes {
		i := slices.IndexFunc(now.Processes, func(s state) bool { return s.Name == old.Name })
		if i < 0 {
			return fmt.Errorf("%s does not run", old.Name)
		}
		s := now.Processes[i]
		// On a slow machine a process may end once more by itself, before its API server runs again.
		killed := s.LastExit != nil && (s.LastExit.Code == 128+int(syscall.SIGKILL) || s.Restarts > old.Restarts+1)
		if !s.Running || s.Pid == old.Pid || s.Restarts <= old.Restarts || !killed {
			return fmt.Errorf("%+v, last exit %+v", s, s.LastExit)
		}
	}
	if !now.ControlPlane.Ready || !now.Node.Ready {
		return fmt.Errorf("control plane: %+v, node: %+v", now.ControlPlane, now.Node)
	}
	return nil
}

// objects returns all permanent objects of the cluster, as "group/version resource namespace/name uid".
func (p platform) objects() []string {
	p.t.Helper()
	all, err := stratatest.Objects(p.t.Context(), p.home().AdminKubeconfig())
	if err != nil {
		p.t.Fatal(err)
	}
	var found []string
	for _, object := range all {
		found = append(found, fmt.Sprintf("%s %s", object, object.UID))
	}
	if len(found) < 100 {
		p.t.Fatalf("the cluster has only %d objects: %v", len(found), found)
	}
	return found
}

// checkObjects fails the test if one of the given objects is missing.
func (p platform) checkObjects(before []string) {
	p.t.Helper()
	now := p.objects()
	for _, object := range before {
		if !slices.Contains(now, object) {
			p.t.Errorf("%s is lost", object)
		}
	}
}
