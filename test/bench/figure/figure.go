// Package figure records the measurements of benchmarks, each with its upper bound. `make bench` prints them as a table.
package figure

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

// FileVariable names the environment variable with the path of a file. Figures are appended to it, one JSON object a line.
// Without it a figure is only a metric of its benchmark.
const FileVariable = "STRATA_BENCH_FIGURES"

// A Figure is a measured value.
type Figure struct {
	Name     string  `json:"name"`
	Measured float64 `json:"measured"`
	Unit     string  `json:"unit"`
	Bound    float64 `json:"bound,omitempty"` // upper bound; 0 means no bound
	OK       bool    `json:"ok"`              // the value is within its bound, or has none
}

// AtMost reports a measurement and its upper bound, in the same unit. A bound of 0 means no bound.
func AtMost(b *testing.B, name string, measured, bound float64, unit string) {
	b.Helper()
	b.ReportMetric(measured, strings.ReplaceAll(name, " ", "-")+"-"+unit)
	// Only the reported figures count, not the duration of the whole benchmark.
	b.ReportMetric(0, "ns/op")
	path := os.Getenv(FileVariable)
	if path == "" {
		return
	}
	f := Figure{Name: name, Measured: measured, Unit: unit, Bound: bound, OK: bound == 0 || measured <= bound}
	if err := add(path, f); err != nil {
		b.Fatal(err)
	}
}

// Seconds reports a duration and its upper bound. A bound of 0 means no bound.
func Seconds(b *testing.B, name string, measured, bound time.Duration) {
	b.Helper()
	AtMost(b, name, measured.Seconds(), bound.Seconds(), "s")
}

func add(path string, f Figure) error {
	line, err := json.Marshal(f)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := file.Write(append(line, '\n')); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}
