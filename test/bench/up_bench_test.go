package main

import (
	"encoding/json"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/strata-platform/strata/test/bench/figure"
	"github.com/strata-platform/strata/test/stratatest"
)

// Bounds of the whole platform.
const (
	upBound       = time.Minute
	againBound    = 2 * time.Second
	downBound     = 30 * time.Second
	allIdleMemory = 1400.0 // MB
)

// downStep matches a finished step in the output of `strata down`, without the folder that it names, and its duration.
var downStep = regexp.MustCompile(`(?m)^ *✓ (.+?)(?: /\S+)? +([0-9.]+)s`)

// upReport holds the steps in the output of `strata up -o json`.
type upReport struct {
	Steps []struct {
		Name    string  `json:"name"`
		Seconds float64 `json:"seconds"`
	} `json:"steps"`
}

// BenchmarkUp brings a platform up from an empty home to Ready Stacks with all tools built, again without a change, and
// down.
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
	printed, err := p.Command(b.Context(), "down", "--purge", "--yes").CombinedOutput()
	took := time.Since(began)
	if err != nil {
		b.Fatalf("down: %v\n%s", err, printed)
	}
	steps := downStep.FindAllStringSubmatch(string(printed), -1)
	if len(steps) == 0 {
		b.Errorf("down has printed no step:\n%s", printed)
	}
	for _, step := range steps {
		seconds, err := strconv.ParseFloat(step[2], 64)
		if err != nil {
			b.Fatal(err)
		}
		figure.AtMost(b, "down: "+step[1], seconds, 0, "s")
	}
	figure.Seconds(b, "down", took, downBound)
}
