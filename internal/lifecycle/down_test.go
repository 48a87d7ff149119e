package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/progress"
)

func TestOnlyAPurgeContinuesAfterAFailure(t *testing.T) {
	const layer, stop, remove = "layer 2: destroy platform", "stop all processes", "remove"
	for name, test := range map[string]struct {
		purge  bool
		failed string
		done   string
		want   string
	}{
		"without a purge it ends there":                    {false, layer, layer, "broken"},
		"with a purge it goes on":                          {true, layer, layer + stop + remove, ""},
		"what runs still is not removed":                   {true, stop, layer + stop, "broken"},
		"what could not be removed is not said to be gone": {true, remove, layer + stop + remove, "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			p := New(newTestTarget(t, nil))
			var done, out bytes.Buffer
			var steps []Step
			for _, step := range []string{layer, stop, remove} {
				steps = append(steps, Step{Name: step, Required: step != layer, Do: func(context.Context, *progress.Reporter) (string, error) {
					done.WriteString(step)
					if step == test.failed {
						return "", errors.New("broken")
					}
					return "", nil
				}})
			}
			run := p.run
			if test.purge {
				run = p.runAnyway
			}
			err := run(t.Context(), progress.New(&out), steps)
			if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
				t.Errorf("the outcome is %v, want %q", err, test.want)
			}
			if done.String() != test.done {
				t.Errorf("done was %q, want %q", done.String(), test.done)
			}
			if said := strings.Contains(out.String(), "broken\n   continuing: --purge removes the test with everything"); said != (test.want == "") {
				t.Errorf("it says that it goes on: %v:\n%s", said, out.String())
			}
		})
	}
}

func TestAPurgeSkipsStepsThatCannotSucceedAfterAFailure(t *testing.T) {
	p := New(newTestTarget(t, nil))
	var done []string
	step := func(name string, orderly bool, err error) Step {
		return Step{Name: name, SkipAfterFailure: orderly, Do: func(context.Context, *progress.Reporter) (string, error) {
			done = append(done, name)
			return "", err
		}}
	}
	steps := []Step{step("Stacks", false, errors.New("blocked")), step("layer 2", true, nil), step("layer 1", false, nil)}
	if err := p.runAnyway(t.Context(), progress.New(io.Discard), steps); err != nil || strings.Join(done, ", ") != "Stacks, layer 1" {
		t.Errorf("done was %q (%v)", done, err)
	}
}

func TestTheJournalKeepsTheLastStepOfDown(t *testing.T) {
	target := newTestTarget(t, nil)
	p := New(target)
	for _, step := range []string{ClusterStep, PlatformLayer, ClusterStep} {
		if err := p.beginDown(step); err != nil {
			t.Fatal(err)
		}
	}
	if step, begun := target.journal.DownBegun(); !begun || step != PlatformLayer {
		t.Errorf("the note says %q (%t): what layer 2's destroy has left would be forgotten", step, begun)
	}
	if err := p.endDown(BootstrapLayer); err != nil {
		t.Fatal(err)
	}
	if _, begun := target.journal.DownBegun(); begun {
		t.Error("a platform that is down is said to go down")
	}
}

func TestProtectedResourcesEndDownBeforeAnyChange(t *testing.T) {
	target := newTestTarget(t, nil)
	target.states[BootstrapLayer][0].Protect = true
	err := New(target).Down(t.Context(), progress.New(io.Discard), false)
	if err == nil || !strings.Contains(err.Error(), "nothing was destroyed: deletionProtection protects 1 of its resources (x)") {
		t.Errorf("down ends with %v", err)
	}
	if _, begun := target.journal.DownBegun(); begun {
		t.Error("down has begun")
	}
}
