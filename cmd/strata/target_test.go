package main

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

func TestUnknownTargetsAndFlagsOfAnotherTargetAreWrongUse(t *testing.T) {
	t.Setenv(home.Variable, t.TempDir())
	for line, want := range map[string]string{
		"up --target moon":                    "the targets are local and gke",
		"status --target moon":                "the targets are local and gke",
		"down --target moon":                  "the targets are local and gke",
		"doctor --target moon":                "the targets are local and gke",
		"layer preview platform --target x":   "the targets are local and gke",
		"down --target gke --purge --yes":     "--purge does not apply to the platform on Google Cloud, stack dev: leave it out",
		"env bootstrap --target gke":          "use your own pulumi environment",
		"layer preview moon --target gke":     "give one layer: bootstrap or platform",
		"down --target gke --dry-run wrongly": "strata down takes no argument, but got \"wrongly\"",
	} {
		t.Run(line, func(t *testing.T) {
			code, _, stderr := call(t, strings.Fields(line)...)
			if code != exitUsage || !strings.Contains(stderr, want) {
				t.Errorf("the exit code is %d and the error %q, want %d and %q", code, stderr, exitUsage, want)
			}
		})
	}
}

func TestThePlanOfDownOnGoogleCloudChangesNothing(t *testing.T) {
	// Without these folders the command cannot read the platform's state. It then says so and still lists the steps.
	t.Setenv("PATH", "/nowhere")
	t.Setenv("HOME", "/nowhere")
	code, out, stderr := call(t, "down", "--target", "gke", "--dry-run")
	if code != exitDone {
		t.Fatalf("the exit code is %d: %s", code, stderr)
	}
	order := []string{"no protected resources", "destroy their Stacks while the operator runs", "teams, operator: delete them while Flux runs", "destroy platform", "destroy bootstrap"}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) < len(order) || !strings.Contains(out, "The plan is incomplete: layer ") {
		t.Fatalf("the plan is\n%s", out)
	}
	for i, step := range order {
		if !strings.Contains(lines[i], step) {
			t.Errorf("step %d is %q, want %q", i+1, lines[i], step)
		}
	}
}
