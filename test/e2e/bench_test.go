package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// upReport is what `strata up -o json` prints of its steps.
type upReport struct {
	Steps []struct {
		Name    string  `json:"name"`
		Seconds float64 `json:"seconds"`
	} `json:"steps"`
}

// BenchmarkUp measures each step of `strata up` from an empty home with a warm toolchain, of an unchanged `up` after
// it, and `down`. Each step is a line of its own.
func BenchmarkUp(b *testing.B) {
	build(b)
	ensureTools(b)
	home := filepath.Join(b.TempDir(), "home")
	strata := func(args ...string) []byte {
		command := exec.Command(filepath.Join(strataDir, "strata"), args...)
		command.Dir = root
		command.Env = append(os.Environ(), "STRATA_HOME="+home)
		out, err := command.Output()
		if err != nil {
			stderr := ""
			exit := &exec.ExitError{}
			if errors.As(err, &exit) {
				stderr = string(exit.Stderr)
			}
			b.Fatalf("strata %s: %v\n%s", strings.Join(args, " "), err, stderr)
		}
		return out
	}
	defer strata("local", "stop")
	up := func(name string) {
		b.Run(name, func(b *testing.B) {
			var report upReport
			if err := json.Unmarshal(strata("up", "-o", "json"), &report); err != nil {
				b.Fatal(err)
			}
			for _, step := range report.Steps {
				b.ReportMetric(step.Seconds, unit(step.Name))
			}
		})
	}
	up("first")
	up("unchanged")
	b.Run("down", func(*testing.B) { strata("down", "--purge", "--yes") })
}

// unit makes the name of a step fit for the unit of a benchmark's metric, which must not hold a space.
func unit(step string) string { return "s/" + strings.ReplaceAll(step, " ", "-") }
