package local

import "testing"

// TestAHomeIsRemovedOnlyAfterItsPrograms matters because without the home, nobody could find programs that still run.
func TestAHomeIsRemovedOnlyAfterItsPrograms(t *testing.T) {
	p := openTestPlatform(t)
	steps := p.Finish(t.Context(), true)
	if len(steps) != 2 || steps[0].Name != "stop all processes" || steps[1].Name != "remove "+p.Home.Dir() {
		t.Fatalf("the steps are %+v", steps)
	}
	for _, step := range steps {
		if !step.Required {
			t.Errorf("a purge goes on after a failure of the step %q", step.Name)
		}
	}
	if steps := p.Finish(t.Context(), false); len(steps) != 1 {
		t.Errorf("without a purge the steps are %+v", steps)
	}
}
