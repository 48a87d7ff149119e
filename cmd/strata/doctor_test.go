package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/doctor"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// TestDoctorOfThisMachine runs the real command. The machine has at least the tools that run this test.
func TestDoctorOfThisMachine(t *testing.T) {
	t.Setenv(home.Variable, filepath.Join(t.TempDir(), "home"))
	code, out, stderr := call(t, "doctor", "-o", "json")
	var report doctor.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v: %s %s", err, out, stderr)
	}
	if (code == exitDone) != report.OK || stderr != "" {
		t.Errorf("doctor exits %d with %s, ok: %v", code, stderr, report.OK)
	}
	levels := map[string]doctor.Level{}
	for _, f := range report.Findings {
		levels[f.Check] = f.Level
	}
	for _, check := range []string{"go", "git", "platform"} {
		if levels[check] != doctor.OK {
			t.Errorf("%s is %s", check, levels[check])
		}
	}
	if code, out, _ := call(t, "doctor"); code == exitUsage || !strings.Contains(out, "✓ go") {
		t.Errorf("as text doctor prints (%d)\n%s", code, out)
	}
}

// TestDoctorOfGoogleCloudWithoutACluster finds the missing requirements. There is no pulumi that could know a cluster.
func TestDoctorOfGoogleCloudWithoutACluster(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	code, out, stderr := call(t, "doctor", "--target", "gke")
	for _, want := range []string{"✗ go ", "→ install it: https://go.dev/dl/", "✗ pulumi  it is neither on PATH nor in ", "This machine does not meet every requirement"} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor does not say %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "versions") || strings.Contains(out, "gVisor") || stderr != "" || code != exitFailed {
		t.Errorf("doctor exits %d with %q and says\n%s", code, stderr, out)
	}
}

// TestDoctorOfAMachineWithoutTools empties PATH.
func TestDoctorOfAMachineWithoutTools(t *testing.T) {
	t.Setenv(home.Variable, filepath.Join(t.TempDir(), "home"))
	t.Setenv("PATH", t.TempDir())
	code, out, _ := call(t, "doctor")
	for _, want := range []string{"✗ go", "no Go on PATH", "→ install Go from https://go.dev/dl", "✗ git", "This machine does not meet every requirement"} {
		if !strings.Contains(out, want) {
			t.Errorf("doctor does not say %q:\n%s", want, out)
		}
	}
	if code != exitFailed {
		t.Errorf("doctor exits %d", code)
	}
}
