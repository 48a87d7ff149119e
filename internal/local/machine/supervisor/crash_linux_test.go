package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/test/long"
)

// stray starts a process like a program of the home: in a group of its own, with the given HOME, and not as a child of
// the supervisor.
func stray(t *testing.T, homeVariable string) int {
	t.Helper()
	command := exec.Command("sleep", "600")
	command.Env = []string{"HOME=" + homeVariable}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	return command.Process.Pid
}

// gone reports whether a process has ended. A zombie has ended.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

// killAll kills the supervisor and all of its processes at once, like a power failure.
func (p *platform) killAll() {
	for pid := range p.processes() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func TestLeftoversOfAKilledSupervisorAreEndedByTheNextAndByStop(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, p *platform){
		"start": func(t *testing.T, p *platform) { p.start(t) },
		"stop": func(t *testing.T, p *platform) {
			if err := p.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlatform(t, t.TempDir())
			other, err := home.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			p.start(t)
			mine := []int{stray(t, filepath.Join(p.home.Pods(), "operator", "run-1")), stray(t, p.home.Git()), stray(t, p.home.Kubernetes())}
			others := []int{stray(t, filepath.Join(other.Pods(), "operator")), stray(t, p.home.Dir()), stray(t, p.home.Layer("bootstrap"))}
			// A layer is running.
			release, err := p.home.AcquireLayers()
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			p.killAll()
			end(t, p)
			for _, pid := range mine {
				if !gone(pid) {
					t.Errorf("pid %d was left", pid)
				}
			}
			for _, pid := range others {
				if gone(pid) {
					t.Errorf("pid %d, which is not the supervisor's, was ended", pid)
				}
			}
		})
	}
}

func TestStopEndsTheLeftoversOfAKilledLayerRun(t *testing.T) {
	p := newPlatform(t, t.TempDir())
	plugin := stray(t, p.home.Layer("bootstrap"))
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !gone(plugin) {
		t.Error("it was left")
	}
}

// moment is a moment of the first start of a home. here reports that it has come.
type moment struct {
	name string
	here func(p *platform) bool
}

// interruptions are moments in the order in which they come. The soak interrupts the start at each of them.
var interruptions = []moment{
	{"the home is made", func(p *platform) bool { return p.home.Exists() }},
	{"the emulator has its store", func(p *platform) bool { return exists(p.home.Google(), "store.db") }},
	{"the first key is made", func(p *platform) bool { return exists(p.home.Kubernetes(), "pki", "ca.key") }},
	{"etcd has its folder", func(p *platform) bool { return exists(p.home.Kubernetes(), "etcd") }},
	{"the API server runs", func(p *platform) bool { return exists(p.home.Log("kube-apiserver")) }},
	{"the controllers run", func(p *platform) bool { return exists(p.home.Log("kube-controller-manager")) }},
	{"the node runs", func(p *platform) bool { return p.keeps("node") }},
}

func exists(path ...string) bool {
	_, err := os.Stat(filepath.Join(path...))
	return err == nil
}

// keeps reports whether the home has reserved a port for a name.
func (p *platform) keeps(name string) bool {
	ports, err := p.home.Ports()
	return err == nil && ports[name] != 0
}

func TestAnInterruptedFirstStartContinues(t *testing.T) {
	long.Test(t)
	const etcd, controllers = 3, 5
	interrupt(t, interruptions[etcd], interruptions[controllers])
}

// interrupt interrupts the first start of a home at each of the moments, and starts it again.
func interrupt(t *testing.T, moments ...moment) {
	t.Helper()
	for _, moment := range moments {
		t.Run(moment.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "home")
			p := newPlatformAt(t, dir)
			// The start works like `strata local start`, but in this process, so that it ends with the simulated power
			// failure.
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if _, err := home.Open(dir); err != nil {
					return
				}
				if p.Start(ctx, executable, repository) == nil {
					_ = p.StartCluster(ctx)
				}
			}()
			ticker := time.NewTicker(time.Millisecond)
			defer ticker.Stop()
			deadline := time.After(2 * time.Minute)
			for !moment.here(p) {
				select {
				case <-ticker.C:
				case <-deadline:
					t.Fatal("the moment did not come")
				}
			}
			cancel()
			p.killAll()
			<-ended
			p.killAll()

			if _, err := home.Open(dir); err != nil {
				t.Fatal(err)
			}
			p.start(t)
			p.startCluster(t)
			status := p.status(t)
			if !status.ControlPlane.Ready || !status.Node.Ready {
				t.Errorf("control plane: %+v, node: %+v", status.ControlPlane, status.Node)
			}
			p.runPod(t, "after")
		})
	}
}

func TestAStopEndsASupervisorThatHasNotBegun(t *testing.T) {
	p := newPlatform(t, t.TempDir())
	dir := t.TempDir()
	spawned, goOn := filepath.Join(dir, "spawned"), filepath.Join(dir, "go-on")
	slow := filepath.Join(dir, "strata")
	script := fmt.Sprintf("#!/bin/sh\necho $$ >%[1]s.new && mv %[1]s.new %[1]s\nuntil [ -e %s ]; do sleep 0.05; done\nexec %s \"$@\"\n", spawned, goOn, executable)
	if err := os.WriteFile(slow, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	started := make(chan error, 1)
	go func() { started <- p.Start(ctx, slow, repository) }()
	var pid int
	eventually(t, "the supervisor's process is there", func() error {
		raw, err := os.ReadFile(spawned)
		if err == nil {
			pid, err = strconv.Atoi(strings.TrimSpace(string(raw)))
		}
		return err
	})
	interrupt()
	if err := <-started; !errors.Is(err, context.Canceled) {
		t.Fatalf("the start says %v", err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- p.Stop(t.Context()) }()
	if release, err := p.home.Acquire(); err == nil {
		release()
		t.Error("a stop finds the home unlocked while a supervisor begins")
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	eventually(t, "the supervisor is gone", func() error {
		if !gone(pid) {
			return fmt.Errorf("process %d runs", pid)
		}
		return nil
	})
}

func TestAStartWhileAnotherStopsWaitsForItsEnd(t *testing.T) {
	long.Test(t)
	p := newPlatform(t, t.TempDir())
	p.start(t)
	before := p.startCluster(t)
	// A program that hangs slows the stop down.
	if err := syscall.Kill(before.Processes[len(before.Processes)-1].Pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- p.Stop(t.Context()) }()
	eventually(t, "the supervisor stops", func() error {
		status, err := p.Status(t.Context())
		if err == nil && !status.Stopping {
			err = errors.New("it does not")
		}
		return err
	})
	p.start(t)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	if status := p.status(t); status.Pid == before.Pid || status.Stopping {
		t.Errorf("the supervisor is %d, was %d; stopping: %v", status.Pid, before.Pid, status.Stopping)
	}
}

func TestStopEndsAProgramThatHangs(t *testing.T) {
	long.Test(t)
	p := newPlatform(t, t.TempDir())
	p.start(t)
	for _, s := range p.startCluster(t).Processes {
		if s.Name == "kube-controller-manager" || s.Name == "etcd" {
			if err := syscall.Kill(s.Pid, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.noProcess(); err != nil {
		t.Error(err)
	}
	if err := p.portsFree(); err != nil {
		t.Error(err)
	}
}

// stopped returns nil if every thread of a process is stopped (proc(5)). A running thread handles the signal a little
// later than the kernel sends it, and may answer a request until then.
func stopped(pid int) error {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return fmt.Errorf("find the threads of process %d: %d found: %w", pid, len(threads), err)
	}
	for _, thread := range threads {
		stat, err := os.ReadFile(thread)
		if err != nil {
			return err
		}
		if _, state, _ := strings.Cut(string(stat), ") "); !strings.HasPrefix(state, "T") {
			return fmt.Errorf("%s: state %.1s", thread, state)
		}
	}
	return nil
}

func TestASupervisorThatHangsIsNamedByStatusAndEndedByStop(t *testing.T) {
	long.Test(t)
	p := newPlatform(t, t.TempDir())
	p.start(t)
	hung := p.startCluster(t).Pid
	if err := syscall.Kill(hung, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the supervisor hangs", func() error { return stopped(hung) })
	_, err := p.Status(t.Context())
	if err == nil || !strings.Contains(err.Error(), "pid "+strconv.Itoa(hung)) || !strings.Contains(err.Error(), "strata local stop") {
		t.Errorf("the status says %v", err)
	}
	if err := p.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no process is left", p.noProcess)
	p.start(t)
	eventually(t, "the cluster runs again", func() error {
		if s := p.status(t); !s.ControlPlane.Ready {
			return fmt.Errorf("it is %s %s", s.Cluster, s.ControlPlane.Message)
		}
		return nil
	})
}
