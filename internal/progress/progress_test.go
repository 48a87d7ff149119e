package progress

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
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

func TestAVerboseReporterPrintsEachNewDetail(t *testing.T) {
	var out bytes.Buffer
	r := NewVerbose(&out)
	failure := errors.New("broken")
	if err := r.Run("layer 1", func() (string, error) {
		for _, detail := range []string{"creating a", "creating a", "creating \x1b[2J"} {
			r.Detail("%s", detail)
		}
		return "", failure
	}); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	want := regexp.MustCompile(`^    +\d\.\ds  creating a\n    +\d\.\ds  creating \\x1b\[2J\n ✗ layer 1 +\d\.\ds\n$`)
	if !want.Match(out.Bytes()) {
		t.Errorf("printed\n%s", &out)
	}
	if got, want := r.Failed(), `layer 1: creating \x1b[2J`; got != want {
		t.Errorf("the failed step is %q, want %q", got, want)
	}
}

func TestAShortStepHasALineOnlyIfItFails(t *testing.T) {
	var out bytes.Buffer
	r := New(&out)
	if err := r.RunShort("quick", func() (string, error) { return "", nil }); err != nil || out.Len() > 0 {
		t.Errorf("printed %q, error %v", &out, err)
	}
	failure := errors.New("broken")
	if err := r.RunShort("prepare", func() (string, error) { return "", failure }); !errors.Is(err, failure) || !bytes.HasPrefix(out.Bytes(), []byte(" ✗ prepare")) {
		t.Errorf("printed %q, error %v", &out, err)
	}
}

func TestAStepKeepsItsLineAfterAShortStepWithinIt(t *testing.T) {
	var out bytes.Buffer
	r := New(&out)
	err := r.Run("layer 1", func() (string, error) {
		return "16 deleted", r.RunShort("prepare", func() (string, error) { return "", nil })
	})
	if line := out.String(); err != nil || !strings.HasPrefix(line, " ✓ layer 1 ") || !strings.HasSuffix(line, "16 deleted\n") {
		t.Errorf("printed %q, error %v", line, err)
	}
}
