package local

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/progress"
)

func TestDownGoesOnAfterAFailureOnlyToRemoveEverythingAndSaysSo(t *testing.T) {
	const layer = "layer 2: destroy platform"
	for name, test := range map[string]struct {
		purge  bool
		failed string
		done   string
		want   string
	}{
		"without a purge it ends there":                    {false, layer, layer, "broken"},
		"with a purge it goes on":                          {true, layer, layer + stopStep + "remove", ""},
		"what runs still is not removed":                   {true, stopStep, layer + stopStep, "broken"},
		"what could not be removed is not said to be gone": {true, "remove", layer + stopStep + "remove", "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			p := openTestPlatform(t)
			var done, out bytes.Buffer
			var steps []downStep
			for _, step := range []string{layer, stopStep, "remove"} {
				label := strings.Replace(step, "remove", p.removeStep(), 1)
				steps = append(steps, downStep{name: label, do: func(context.Context, *progress.Reporter) (string, error) {
					done.WriteString(step)
					if step == test.failed {
						return "", errors.New("broken")
					}
					return "", nil
				}})
			}
			err := p.runDown(t.Context(), progress.New(&out), steps, test.purge)
			if test.want == "" && err != nil || test.want != "" && (err == nil || err.Error() != test.want) {
				t.Errorf("the outcome is %v, want %q", err, test.want)
			}
			if done.String() != test.done {
				t.Errorf("done was %q, want %q", done.String(), test.done)
			}
			if said := strings.Contains(out.String(), "broken\n   going on nevertheless: --purge"); said != (test.want == "") {
				t.Errorf("it says that it goes on: %v:\n%s", said, out.String())
			}
		})
	}
}

func TestAPurgeLeavesOutWhatMakesNoSenseAfterAFailure(t *testing.T) {
	p := openTestPlatform(t)
	var done []string
	step := func(name string, orderly bool, err error) downStep {
		return downStep{name: name, orderly: orderly, do: func(context.Context, *progress.Reporter) (string, error) {
			done = append(done, name)
			return "", err
		}}
	}
	steps := []downStep{step("Stacks", false, errors.New("blocked")), step("layer 2", true, nil), step("layer 1", false, nil)}
	if err := p.runDown(t.Context(), progress.New(io.Discard), steps, true); err != nil || strings.Join(done, ", ") != "Stacks, layer 1" {
		t.Errorf("done was %q (%v)", done, err)
	}
}

func TestANoteOfDownNeverGoesBack(t *testing.T) {
	p := openTestPlatform(t)
	for _, step := range []string{clusterStep, PlatformLayer, clusterStep} {
		if err := p.beginDown(step); err != nil {
			t.Fatal(err)
		}
	}
	if step, begun := p.Home.DownBegun(); !begun || step != PlatformLayer {
		t.Errorf("the note says %q (%t): what layer 2's destroy has left would be forgotten", step, begun)
	}
	if err := p.endDown(BootstrapLayer); err != nil {
		t.Fatal(err)
	}
	if _, begun := p.Home.DownBegun(); begun {
		t.Error("a platform that is down is said to go down")
	}
}
