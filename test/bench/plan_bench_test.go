package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/test/bench/figure"
	"github.com/strata-platform/strata/test/stratatest"
)

// plannedBound limits the time from the start of a push of a branch until its Plan is complete.
const plannedBound = 5 * time.Second

// pets is a Program with three resources, and its Stack.
const pets = `apiVersion: pulumi.com/v1
kind: Program
metadata: {name: pets}
program:
  resources:
    one: {type: random:RandomPet}
    two: {type: random:RandomPet}
    database: {type: gcp:sql:Database, properties: {name: web_pets%d, instance: strata}}
---
apiVersion: pulumi.com/v1
kind: Stack
metadata: {name: pets}
spec: {programRef: {name: pets}}
`

// BenchmarkPushPlan pushes branches to a team's repository, and waits for the Plan of each.
func BenchmarkPushPlan(b *testing.B) {
	p := stratatest.NewWithTools(b)
	p.Run("up")
	clone := cloneOf(b, p, "web", "web")
	clone.commit("kustomization.yaml", "resources:\n", "resources:\n  - pets.yaml\n")
	var worst time.Duration
	for i := range pushes {
		if err := os.WriteFile(filepath.Join(clone.dir, "pets.yaml"), fmt.Appendf(nil, pets, i), 0o600); err != nil {
			b.Fatal(err)
		}
		clone.git("add", "pets.yaml")
		clone.git("commit", "--quiet", "--message=Change pets.yaml")
		began := time.Now()
		clone.git("push", "--quiet", "-o", "wait", "origin", fmt.Sprintf("HEAD:refs/heads/pets%d", i))
		worst = max(worst, time.Since(began))
		checkPlanned(b, p, clone.git("rev-parse", "HEAD"))
	}
	figure.Seconds(b, "branch pushed to its plan, the slowest of 5", worst, plannedBound)
}

// checkPlanned fails the benchmark unless the Plan of a commit is ready.
func checkPlanned(b *testing.B, p *stratatest.Platform, commit string) {
	b.Helper()
	var list struct {
		Plans []struct{ Commit, Phase string }
	}
	if err := json.Unmarshal(p.Run("plan", "list", "--team", "web", "-o", "json"), &list); err != nil {
		b.Fatal(err)
	}
	for _, each := range list.Plans {
		if each.Commit == commit && each.Phase == plan.Ready {
			return
		}
	}
	b.Fatalf("there is no plan of commit %s that is ready: %+v", commit, list.Plans)
}
