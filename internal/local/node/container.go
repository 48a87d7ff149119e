package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/process"
)

// Delays before a container that ended is started again, as the kubelet has them: at once the first time, then 10
// seconds, doubling up to five minutes; forgotten after ten minutes of running.
const (
	firstCrashDelay = 10 * time.Second
	maxCrashDelay   = 5 * time.Minute
	crashesForgiven = 10 * time.Minute
)

// Delays before another try where a container cannot be started, for want of a Secret for example.
const (
	firstConfigDelay = 500 * time.Millisecond
	maxConfigDelay   = 10 * time.Second
)

// container runs one container of a pod. Its state is guarded by the pod's lock.
type container struct {
	pod   *pod
	spec  *corev1.Container
	image *Image // nil: simulated

	state    corev1.ContainerState
	last     corev1.ContainerState
	restarts int32
	started  bool // the startup probe has passed
	ready    bool
	ended    bool          // the container has ended and is not started again
	ports    map[int32]int // container port -> port on loopback
}

// restart says whether a container that ended with an exit code is started again.
func restart(policy corev1.RestartPolicy, code int) bool {
	return policy == corev1.RestartPolicyAlways || policy == corev1.RestartPolicyOnFailure && code != 0
}

// run runs the container until it is not to be restarted, or until ctx ends; then the program gets the pod's grace
// period. It returns the last exit code.
func (c *container) run(ctx context.Context, policy corev1.RestartPolicy) int {
	defer c.set(func() { c.ended = true })
	if c.image == nil {
		return c.simulate(ctx)
	}
	var crashDelay, configDelay time.Duration
	for {
		p, env, err := c.start(ctx)
		if ctx.Err() != nil {
			if p != nil {
				p.Stop(c.pod.grace())
			}
			c.terminated(p, time.Now())
			return 0
		}
		if err != nil {
			configDelay = min(max(2*configDelay, firstConfigDelay), maxConfigDelay)
			c.waiting("CreateContainerConfigError", err.Error())
			c.pod.event(corev1.EventTypeWarning, "Failed", "container %s: %v", c.spec.Name, err)
			if !wait(ctx, configDelay) {
				return 0
			}
			continue
		}
		configDelay = 0
		began := time.Now()
		c.running(began)
		c.watch(ctx, p, env)
		code := c.terminated(p, began)
		if ctx.Err() != nil || !restart(policy, code) {
			return code
		}
		if time.Since(began) > crashesForgiven {
			crashDelay = 0
		}
		c.crashed(crashDelay)
		if !wait(ctx, crashDelay) {
			return code
		}
		crashDelay = min(max(2*crashDelay, firstCrashDelay), maxCrashDelay)
	}
}

// watch probes the running program and returns when it has ended: by itself, for a failed liveness probe, or because
// ctx ended.
func (c *container) watch(ctx context.Context, p *process.Process, env []string) {
	probes, stop := context.WithCancel(ctx)
	unhealthy := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.probe(probes, env, unhealthy)
	}()
	select {
	case <-p.Done():
	case <-unhealthy:
		p.Stop(c.pod.grace())
	case <-ctx.Done():
		p.Stop(c.pod.grace())
	}
	stop()
	<-done
}

// start prepares the container's volumes, environment and arguments and starts its program.
func (c *container) start(ctx context.Context) (*process.Process, []string, error) {
	path, err := c.image.Program(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := c.pod.prepare(ctx); err != nil {
		return nil, nil, err
	}
	own, err := c.pod.environment(ctx, c.spec)
	if err != nil {
		return nil, nil, err
	}
	ports := map[int32]int{}
	var listen []string
	for _, l := range c.image.Listen {
		port, err := freePort()
		if err != nil {
			return nil, nil, err
		}
		ports[l.Port] = port
		listen = append(listen, fmt.Sprintf("%s=%s:%d", l.Flag, loopback, port))
	}
	rewrite := c.rewriter()
	args := append([]string{}, c.image.Entrypoint...)
	// The program stands for the image's entry point; what the pod's command says behind its own program stays.
	words := c.spec.Args
	if len(c.spec.Command) > 1 {
		words = append(append([]string{}, c.spec.Command[1:]...), words...)
	}
	for _, word := range words {
		args = append(args, rewrite(expand(word, own)))
	}
	args = append(append(args, listen...), c.image.Override...)
	env := c.processEnv(own, rewrite)
	// The first argument leads from the process list to the home, the pod and the container.
	argv0 := filepath.Join(c.pod.dir, c.spec.Name, filepath.Base(path))
	p, err := process.Start(process.Spec{
		Name: c.spec.Name, Path: path, Argv0: argv0, Args: args, Env: env, Dir: c.pod.dir, Log: c.logFile(),
	})
	if err != nil {
		return nil, nil, err
	}
	c.pod.mu.Lock()
	c.ports = ports
	c.pod.mu.Unlock()
	return p, env, nil
}

// processEnv makes the whole environment: the image's, then the container's, and last, so that no pod can set it, what
// takes the place of a container's file system: a pod must not point its process at another's credentials or programs.
func (c *container) processEnv(own map[string]string, rewrite func(string) string) []string {
	env := map[string]string{}
	for name, value := range own {
		if !strings.HasPrefix(name, "LD_") && name != "PATH" {
			env[name] = rewrite(value)
		}
	}
	for name, value := range c.image.Env {
		if _, set := env[name]; !set {
			env[name] = value
		}
	}
	env["HOME"], env["TMPDIR"], env["HOSTNAME"] = c.pod.dir, c.pod.dir, c.pod.current().Name
	if tmp := c.pod.mountedAt(c.spec, "/tmp"); tmp != "" {
		env["TMPDIR"] = tmp
	}
	delete(env, "KUBECONFIG")
	if account := c.pod.mountedAt(c.spec, serviceAccountDir); account != "" {
		env["KUBECONFIG"] = filepath.Join(account, kubeconfigFile)
	}
	list := make([]string, 0, len(env))
	for _, name := range sortedKeys(env) {
		list = append(list, name+"="+env[name])
	}
	return list
}

// rewriter turns what only a pod's own file system and network can resolve into what this machine can: mount paths
// into folders, names of Services into loopback addresses.
func (c *container) rewriter() func(string) string {
	mounts := c.pod.mountRewriter(c.spec)
	return func(s string) string { return c.pod.node.services.rewrite(mounts(s)) }
}

func (c *container) logFile() string {
	o := c.pod.current()
	return filepath.Join(c.pod.node.logs, "pods", strings.Join([]string{o.Namespace, o.Name, c.spec.Name}, "_")+".log")
}

// simulate pretends to run: the container is Running and ready at once, and completes when it belongs to a Job.
func (c *container) simulate(ctx context.Context) int {
	began := time.Now()
	c.running(began)
	c.set(func() { c.started, c.ready = true, true })
	if !c.pod.completes() {
		<-ctx.Done()
	}
	c.terminated(nil, began)
	return 0
}

func (c *container) set(change func()) {
	c.pod.mu.Lock()
	change()
	c.pod.mu.Unlock()
	c.pod.publish()
}

func (c *container) waiting(reason, message string) {
	c.set(func() {
		c.ready = false
		c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	})
}

func (c *container) running(since time.Time) {
	c.set(func() {
		c.started = c.spec.StartupProbe == nil
		c.ready = c.started && c.spec.ReadinessProbe == nil
		c.state = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}}
	})
}

// terminated records how the program ended; p is nil where none ran. It returns the exit code.
func (c *container) terminated(p *process.Process, began time.Time) int {
	end := &corev1.ContainerStateTerminated{Reason: "Completed", StartedAt: metav1.NewTime(began), FinishedAt: metav1.Now()}
	if p != nil {
		end.ExitCode = int32(p.ExitCode())
		if err := p.ExitError(); err != nil && end.ExitCode != 0 {
			end.Message = err.Error()
		}
		if end.ExitCode != 0 {
			end.Reason = "Error"
		}
	}
	c.set(func() {
		c.ready, c.started = false, false
		c.state = corev1.ContainerState{Terminated: end}
	})
	return int(end.ExitCode)
}

// crashed turns the end of the program into the wait for its next start.
func (c *container) crashed(delay time.Duration) {
	o := c.pod.current()
	c.set(func() {
		c.last, c.restarts = c.state, c.restarts+1
		if delay > 0 {
			message := fmt.Sprintf("back-off %s restarting container %s of pod %s: %s", delay, c.spec.Name, o.Name, c.state.Terminated.Message)
			c.state = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: message}}
		}
	})
	if delay > 0 {
		c.pod.event(corev1.EventTypeWarning, "BackOff", "back-off %s restarting container %s", delay, c.spec.Name)
	}
}

func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// removeLogs removes the logs of a pod that is gone.
func (p *pod) removeLogs() {
	for _, c := range append(p.inits, p.containers...) {
		_ = os.Remove(c.logFile())
		_ = os.Remove(c.logFile() + ".1")
	}
}
