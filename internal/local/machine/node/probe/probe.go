// Package probe runs the probes and the lifecycle hooks of a container, as the kubelet does.
package probe

import (
	"context"
	"net"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Target is a run of a container.
type Target interface {
	// Exec runs a command in the container. It returns errors.ErrUnsupported if the container's image allows none.
	Exec(ctx context.Context, command []string) error
	// Address returns the HOST:PORT of a port of the container, by number or name, or of another host if host is not empty.
	Address(host string, port intstr.IntOrString) string
	// Dial connects to a port of the container, by number or name.
	Dial(ctx context.Context, port intstr.IntOrString) (net.Conn, error)
	// Reach connects to another host, given by its IP address, as the container's programs would. The connection ends with
	// ctx.
	Reach(ctx context.Context, host string, port intstr.IntOrString) (net.Conn, error)
}

// Prober runs the probes and hooks of one run of a container. All fields are required.
type Prober struct {
	// Spec is the container's spec.
	Spec *corev1.Container
	// Image is the container's image, for messages.
	Image  string
	Target Target
}

// Observer gets the outcomes of probes. All fields are required.
type Observer struct {
	// Started is called when the startup probe has passed.
	Started func()
	// Ready is called when the outcome of the readiness probe changes. err is nil if ok is true.
	Ready func(ok bool, err error)
	// Unhealthy is called when the startup or liveness probe, by kind, has failed often enough for a restart.
	Unhealthy func(kind string, err error)
}

// eager is the interval between probes until a program first answers. At the probe's own period, callers could wait
// ten seconds for a program that starts within one.
const eager = 100 * time.Millisecond

// Run runs the container's probes until ctx is done. It calls the functions of the observer concurrently.
func (p Prober) Run(ctx context.Context, o Observer) {
	if probe := p.Spec.StartupProbe; probe != nil {
		if !p.startup(ctx, probe, o) {
			return
		}
		o.Started()
	}
	var group sync.WaitGroup
	if probe := p.Spec.ReadinessProbe; probe != nil {
		group.Go(func() {
			p.repeat(ctx, probe, true, func(ok bool, err error) bool {
				o.Ready(ok, err)
				return true
			})
		})
	}
	if probe := p.Spec.LivenessProbe; probe != nil {
		group.Go(func() {
			p.repeat(ctx, probe, false, func(ok bool, err error) bool {
				if !ok {
					o.Unhealthy("liveness", err)
				}
				return ok
			})
		})
	}
	group.Wait()
}

// startup waits for the startup probe to pass. It returns false if the probe failed for good or ctx is done.
func (p Prober) startup(ctx context.Context, probe *corev1.Probe, o Observer) bool {
	passed := false
	p.repeat(ctx, probe, true, func(ok bool, err error) bool {
		if passed = ok; !ok {
			o.Unhealthy("startup", err)
		}
		return false
	})
	return passed
}

// repeat probes until ctx is done or changed returns false. It calls changed when the outcome changes, after as many
// equal results as the probe's thresholds require. With hurry, it probes at the interval eager until the first success
// and counts no failures, at most for the probe's period times its failure threshold.
func (p Prober) repeat(ctx context.Context, probe *corev1.Probe, hurry bool, changed func(ok bool, err error) bool) {
	if !wait(ctx, time.Duration(probe.InitialDelaySeconds)*time.Second) {
		return
	}
	period := time.Duration(max(probe.PeriodSeconds, 1)) * time.Second
	began := time.Now()
	var known, outcome bool
	var successes, failures int32
	for {
		err := p.check(ctx, probe)
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

// wait waits for a duration. It returns false if ctx is done.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}
