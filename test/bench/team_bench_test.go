package main

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/test/bench/figure"
	"github.com/strata-platform/strata/test/stratatest"
)

// teamBound limits the time until a new team works.
const teamBound = time.Minute

// BenchmarkTeam adds a second team to a platform, and waits until the team has a database. It changes the teams.yaml of a
// clone.
func BenchmarkTeam(b *testing.B) {
	p := stratatest.NewWithTools(b)
	root, err := toolchain.FindRoot(".")
	if err != nil {
		b.Fatal(err)
	}
	clone := filepath.Join(p.Dir, "clone")
	if out, err := exec.CommandContext(b.Context(), "git", "-c", "safe.directory=*", "clone", "--quiet", "--shared", root, clone).CombinedOutput(); err != nil {
		b.Fatalf("clone the repository: %v: %s", err, out)
	}
	run := func(args ...string) time.Duration {
		command := p.Command(b.Context(), args...)
		command.Dir = clone
		began := time.Now()
		if out, err := command.CombinedOutput(); err != nil {
			b.Fatalf("strata %s: %v\n%s", args, err, out)
		}
		return time.Since(began)
	}
	run("up")
	added := run("team", "add", "shop")
	figure.Seconds(b, "team add", added, 0)
	figure.Seconds(b, "team add, then up to the team's own database", added+run("up"), teamBound)
}
