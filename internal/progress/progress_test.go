package progress

import (
	"bytes"
	"errors"
	"regexp"
	"testing"
)

func TestRun(t *testing.T) {
	var out bytes.Buffer
	r := New(&out)
	if err := r.Run("first", func() (string, error) {
		r.Detail("not shown without a terminal")
		r.Note("said %d", 1)
		return "well", nil
	}); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("broken")
	if err := r.Run("second", func() (string, error) { return "ignored", failure }); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	want := regexp.MustCompile(`^   said 1\n ✓ first +\d\.\ds  well\n ✗ second +\d\.\ds\n$`)
	if !want.Match(out.Bytes()) {
		t.Errorf("printed\n%s", &out)
	}
	if steps := r.Steps(); len(steps) != 2 || steps[1].Name != "second" {
		t.Errorf("steps are %v", steps)
	}
}
