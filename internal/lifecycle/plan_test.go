package lifecycle

import (
	"errors"
	"strings"
	"testing"
)

func TestAPlanClaimsNothingOfALayerThatItCannotRead(t *testing.T) {
	target := newTestTarget(t, nil)
	target.unreadable = errors.New("no login to the backend")
	plan := New(target).Plan(t.Context(), false)
	for _, step := range plan.Steps {
		if step.What != "" {
			t.Errorf("step %q claims %q", step.Name, step.What)
		}
	}
	for _, layer := range []string{BootstrapLayer, PlatformLayer} {
		if want := "layer " + layer + ": no login to the backend"; !strings.Contains(plan.Unknown, want) {
			t.Errorf("the plan does not say %q: %s", want, plan.Unknown)
		}
	}
}
