package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// eager is the interval between probes until a program first answers. At the probe's own period, callers could wait
// ten seconds for a program that starts within one.
const eager = 100 * time.Millisecond

// probeClient returns a client that connects only to a port of the container. It does not verify certificates, like
// the kubelet.
func (c *container) probeClient(port intstr.IntOrString) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx, port) },
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// probe runs the container's probes until ctx is done. It calls unhealthy when a startup or liveness probe has failed
// often enough for a restart.
func (c *container) probe(ctx context.Context, r *running, unhealthy func()) {
	fail := func(kind string, err error) {
		c.pod.event(corev1.EventTypeWarning, "Unhealthy", "container %s: %s probe failed: %v", c.spec.Name, kind, err)
		unhealthy()
	}
	if probe := c.spec.StartupProbe; probe != nil {
		if !c.startup(ctx, probe, r, fail) {
			return
		}
		c.set(func() { c.started, c.ready = true, c.spec.ReadinessProbe == nil })
	}
	var group sync.WaitGroup
	if probe := c.spec.ReadinessProbe; probe != nil {
		group.Go(func() {
			c.repeat(ctx, probe, r, true, func(ok bool, err error) bool {
				if !ok {
					c.pod.event(corev1.EventTypeWarning, "Unhealthy", "container %s: readiness probe failed: %v", c.spec.Name, err)
				}
				c.set(func() { c.ready = ok })
				return true
			})
		})
	}
	if probe := c.spec.LivenessProbe; probe != nil {
		group.Go(func() {
			c.repeat(ctx, probe, r, false, func(ok bool, err error) bool {
				if !ok {
					fail("liveness", err)
				}
				return ok
			})
		})
	}
	group.Wait()
}

// startup waits for the startup probe to pass. It returns false if the probe failed for good or ctx is done.
func (c *container) startup(ctx context.Context, probe *corev1.Probe, r *running, fail func(string, error)) bool {
	passed := false
	c.repeat(ctx, probe, r, true, func(ok bool, err error) bool {
		if passed = ok; !ok {
			fail("startup", err)
		}
		return false
	})
	return passed
}

// repeat probes until ctx is done or changed returns false. It calls changed when the outcome changes, after as many
// equal results as the probe's thresholds require.
func (c *container) repeat(ctx context.Context, probe *corev1.Probe, r *running, hurry bool, changed func(ok bool, err error) bool) {
	if !wait(ctx, time.Duration(probe.InitialDelaySeconds)*time.Second) {
		return
	}
	period := time.Duration(max(probe.PeriodSeconds, 1)) * time.Second
	began := time.Now()
	var known, outcome bool
	var successes, failures int32
	for {
		err := c.check(ctx, probe, r)
		if ctx.Err() != nil {
			return
		}
		next := period
		switch {
		case err == nil:
			successes, failures = successes+1, 0
			if successes >= max(probe.SuccessThreshold, 1) && (!known || !outcome) {
				known, outcome = true, true
				if !changed(true, nil) {
					return
				}
			}
		case hurry && !known && time.Since(began) < period*time.Duration(max(probe.FailureThreshold, 1)):
			next = eager
		default:
			successes, failures = 0, failures+1
			if failures >= max(probe.FailureThreshold, 1) && (!known || outcome) {
				known, outcome = true, false
				if !changed(false, err) {
					return
				}
			}
		}
		if !wait(ctx, next) {
			return
		}
	}
}

// check runs a probe once.
func (c *container) check(ctx context.Context, probe *corev1.Probe, r *running) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(max(probe.TimeoutSeconds, 1))*time.Second)
	defer cancel()
	switch {
	case probe.HTTPGet != nil:
		return c.checkHTTP(ctx, probe.HTTPGet)
	case probe.TCPSocket != nil:
		conn, err := c.dial(ctx, probe.TCPSocket.Port)
		if err != nil {
			return err
		}
		return conn.Close()
	case probe.Exec != nil && len(probe.Exec.Command) > 0 && r.image.Commands:
		return c.checkExec(ctx, probe.Exec.Command, r.env)
	}
	return fmt.Errorf("this kind of probe is not supported on this node for image %s", r.image.Repository)
}

func (c *container) checkExec(ctx context.Context, words, env []string) error {
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.Env, command.Dir = env, c.pod.dir
	// A child of the command may keep the output open. WaitDelay stops the wait for it, and the kill below ends it.
	command.WaitDelay = time.Second
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := command.CombinedOutput()
	if command.Process != nil {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

func (c *container) checkHTTP(ctx context.Context, get *corev1.HTTPGetAction) error {
	scheme := strings.ToLower(string(get.Scheme))
	if scheme == "" {
		scheme = "http"
	}
	url := fmt.Sprintf("%s://%s/%s", scheme, c.address(get.Port), strings.TrimPrefix(get.Path, "/"))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	for _, h := range get.HTTPHeaders {
		request.Header.Add(h.Name, h.Value)
	}
	response, err := c.probeClient(get.Port).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode >= 400 {
		return fmt.Errorf("GET %s: %s", url, response.Status)
	}
	return nil
}

// address returns the loopback address of a port of the container, by number or name.
func (c *container) address(port intstr.IntOrString) string {
	return net.JoinHostPort(loopback, strconv.Itoa(c.hostPort(port)))
}

func (c *container) hostPort(port intstr.IntOrString) int {
	number := port.IntVal
	if port.Type == intstr.String {
		for _, declared := range c.spec.Ports {
			if declared.Name == port.StrVal {
				number = declared.ContainerPort
			}
		}
	}
	c.pod.mu.Lock()
	defer c.pod.mu.Unlock()
	if mapped, ok := c.ports[number]; ok {
		return mapped
	}
	return int(number)
}
