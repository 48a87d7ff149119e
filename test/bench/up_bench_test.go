package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/strata-platform/strata/test/bench/figure"
	"github.com/strata-platform/strata/test/stratatest"
)

// What the whole platform may take.
const (
	upBound       = time.Minute
	againBound    = 8 * time.Second
	downBound     = 30 * time.Second
	allIdleMemory = 1400.0 // MB
)

// upReport is what `strata up -o json` prints of its steps.
type upReport struct {
	Steps []struct {
		Name    string  `json:"name"`
		Seconds float64 `json:"seconds"`
	} `json:"steps"`
}

// BenchmarkUp carries a platform from an empty home to Ready Stacks with all tools built, again without a change, and
// back.
func BenchmarkUp(b *testing.B) {
	p := stratatest.NewWithTools(b)
	up := func(name string, bound time.Duration) {
		began := time.Now()
		out := p.Run("up", "-o", "json")
		took := time.Since(began)
		var report upReport
		if err := json.Unmarshal(out, &report); err != nil {
			b.Fatal(err)
		}
		for _, step := range report.Steps {
			figure.AtMost(b, name+": "+step.Name, step.Seconds, 0, "s")
		}
		figure.Seconds(b, name, took, bound)
	}
	up("up from an empty home", upBound)
	figure.AtMost(b, "everything idle: memory", watchIdle(b, p).megabytes, allIdleMemory, "MB")
	up("up again, unchanged", againBound)
	began := time.Now()
	p.Run("down", "--purge", "--yes")
	figure.Seconds(b, "down", time.Since(began), downBound)
}
