package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/strata-platform/strata/test/bench/figure"
	"github.com/strata-platform/strata/test/stratatest"
)

// Bounds of the layers.
const (
	bootstrapBound = 15 * time.Second
	platformBound  = 25 * time.Second
	unchangedBound = 6 * time.Second
)

// BenchmarkLayers runs an up of both layers in an empty home with all tools built, and again without a change. The time
// within Pulumi's engine is a figure of its own.
func BenchmarkLayers(b *testing.B) {
	p := stratatest.NewWithTools(b)
	up := func(layer, what string) time.Duration {
		began := time.Now()
		out := p.Run("layer", "up", layer, "-o", "json")
		took := time.Since(began)
		var result struct {
			EngineSeconds float64 `json:"engineSeconds"`
		}
		if err := json.Unmarshal(out, &result); err != nil {
			b.Fatal(err)
		}
		figure.AtMost(b, "layer "+layer+what+": within Pulumi", result.EngineSeconds, 0, "s")
		return took
	}
	figure.Seconds(b, "layer bootstrap from an empty home", up("bootstrap", ""), bootstrapBound)
	figure.Seconds(b, "layer platform after layer bootstrap", up("platform", ""), platformBound)
	figure.Seconds(b, "both layers again, unchanged", up("bootstrap", " again")+up("platform", " again"), unchangedBound)
}
