package lifecycle

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle/early"
	"github.com/strata-platform/strata/internal/status"
)

// pairTarget is a target that allows layer 2 to begin early. Layer 1 ends when the early run of layer 2 waits or has ended.
type pairTarget struct {
	*testTarget
	mu     sync.Mutex
	events []string

	// fails is the error of layer 1, and breaks the error of layer 2's engine before it calls the program.
	fails, breaks error
	// prepared is the result of Above. waits is closed when the early run waits or has ended.
	prepared bool
	waits    chan struct{}
}

func (t *pairTarget) note(event string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, event)
}

func (t *pairTarget) Hold(_ context.Context, layer string) (Run, func(), error) {
	t.note("hold " + layer)
	run := t.run(layer)
	run.Above = func(context.Context) (Run, func(), bool) {
		return t.run(PlatformLayer), func() { t.note("remove") }, t.prepared
	}
	return run, func() { t.note("release " + layer) }, nil
}

func (t *pairTarget) run(layer string) Run {
	program := func(*pulumi.Context) error {
		t.note("program")
		return nil
	}
	return Run{Layer: layers.Layer{Name: layer, Program: program}, Runner: &pairRunner{testRunner: t.runnerOf(), target: t}}
}

// pairRunner runs the program of layer 2 as Pulumi does: after the start of its engine, if that succeeds.
type pairRunner struct {
	*testRunner
	target *pairTarget
}

func (r *pairRunner) Up(_ context.Context, l layers.Layer, _ layers.Progress) (layers.Summary, error) {
	t := r.target
	if l.Name == BootstrapLayer {
		if t.prepared {
			<-t.waits
		}
		t.note("layer 1 ends")
		return layers.Summary{}, t.fails
	}
	t.note("engine")
	defer t.note("engine ends")
	if t.breaks != nil {
		err := t.breaks
		t.breaks = nil
		close(t.waits)
		return layers.Summary{}, err
	}
	select {
	case <-t.waits:
	default:
		close(t.waits)
	}
	return layers.Summary{}, l.Program(nil)
}

func (r *pairRunner) Refresh(context.Context, layers.Layer, layers.Progress) error {
	r.target.note("refresh")
	return nil
}

func (r *pairRunner) Destroy(context.Context, layers.Layer, layers.Progress) (layers.Summary, error) {
	r.target.note("destroy")
	return layers.Summary{}, nil
}

func TestLayer2BeginsEarlyAndChangesNothingBeforeLayer1Ends(t *testing.T) {
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		prepare func(*pairTarget)
		want    string
		fails   error
	}{
		"both layers run": {
			func(*pairTarget) {},
			"hold bootstrap, engine, layer 1 ends, program, engine ends, remove, release bootstrap", nil,
		},
		"layer 2 is new or its configuration has changed: it begins after layer 1": {
			func(t *pairTarget) { t.prepared = false },
			"hold bootstrap, layer 1 ends, release bootstrap, hold platform, engine, program, engine ends, release platform", nil,
		},
		"a down was interrupted: layer 2 is destroyed and created again after layer 1": {
			func(t *pairTarget) {
				t.prepared = false
				_ = t.journal.BeginDown(PlatformLayer)
			},
			"hold bootstrap, refresh, layer 1 ends, release bootstrap, hold platform, destroy, engine, program, engine ends, release platform", nil,
		},
		"layer 1 fails: the program of layer 2 never runs": {
			func(t *pairTarget) { t.fails = broken },
			"hold bootstrap, engine, layer 1 ends, engine ends, remove, release bootstrap", broken,
		},
		"an object is missing: layer 2 is refreshed before its program runs": {
			func(t *pairTarget) {
				t.below = []status.Item{{Layer: status.LayerPlatform, Kind: "Deployment", Reason: "Missing"}, {Layer: status.LayerPlatform, Kind: "Deployment", Ready: true}}
			},
			"hold bootstrap, engine, layer 1 ends, engine ends, refresh, engine, program, engine ends, remove, release bootstrap", nil,
		},
		"the early run fails before its program: layer 2 runs again": {
			func(t *pairTarget) { t.breaks = broken },
			"hold bootstrap, engine, engine ends, layer 1 ends, engine, program, engine ends, remove, release bootstrap", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string]string{"/api/v1/namespaces": `{"kind": "NamespaceList", "apiVersion": "v1", "items": []}`}
			target := &pairTarget{testTarget: newTestTarget(t, answers), prepared: true, waits: make(chan struct{})}
			test.prepare(target)
			both := &pair{Platform: New(target)}
			_, err := both.first(t.Context(), nil)
			if err == nil {
				_, err = both.second(t.Context(), nil)
			}
			both.end()
			if !errors.Is(err, test.fails) {
				t.Errorf("it ends with %v, want %v", err, test.fails)
			}
			if got := strings.Join(target.events, ", "); got != test.want {
				t.Errorf("it does\n%s, want\n%s", got, test.want)
			}
		})
	}
}

func TestAnInterruptEndsTheEarlyRun(t *testing.T) {
	target := &pairTarget{testTarget: newTestTarget(t, nil), waits: make(chan struct{})}
	ctx, interrupt := context.WithCancel(t.Context())
	run := target.run(PlatformLayer)
	e := early.Begin(ctx, run.Runner, run.Layer)
	<-target.waits
	interrupt()
	e.Wait()
	if _, err := e.Up(ctx, layers.Layer{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("after an interrupt, up ends with %v", err)
	}
	if got := strings.Join(target.events, ", "); got != "engine, engine ends" {
		t.Errorf("it does %s", got)
	}
}
