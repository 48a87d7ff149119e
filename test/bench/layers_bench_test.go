package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/strata-platform/strata/internal/local/gitserver"
	"github.com/strata-platform/strata/internal/local/home"
	"github.com/strata-platform/strata/test/bench/figure"
	"github.com/strata-platform/strata/test/stratatest"
)

// What the layers may take.
const (
	bootstrapBound = 15 * time.Second
	platformBound  = 25 * time.Second
	unchangedBound = 6 * time.Second
)

// BenchmarkLayers brings both layers up from an empty home with all tools built, and again without a change. The time
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
	figure.Seconds(b, "layer platform after it", up("platform", ""), platformBound)
	figure.Seconds(b, "both layers again, unchanged", up("bootstrap", " again")+up("platform", " again"), unchangedBound)
}

// appliedBound is how soon after a push of the platform repository its sync/ is applied.
const (
	appliedBound = 3 * time.Second
	pushes       = 5
)

// BenchmarkPush pushes commits to the platform repository, as an engineer does, and waits until Flux has applied each.
func BenchmarkPush(b *testing.B) {
	p := stratatest.NewWithTools(b)
	p.Run("up")
	var status struct {
		GitURL string `json:"gitURL"`
	}
	if err := json.Unmarshal(p.Run("local", "status", "-o", "json"), &status); err != nil {
		b.Fatal(err)
	}
	h, err := home.At(p.Home)
	if err != nil {
		b.Fatal(err)
	}
	clone := filepath.Join(p.Dir, "platform")
	git := func(args ...string) string {
		cmd := exec.CommandContext(b.Context(), "git", append([]string{
			"-c", "credential.helper=store --file=" + h.GitCredentials(), "-c", "user.name=Ada", "-c", "user.email=ada@example.com",
		}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0")
		out, err := cmd.Output()
		if err != nil {
			b.Fatalf("git %s: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	git("clone", "--quiet", strings.Replace(status.GitURL, "//", "//"+gitserver.Engineer+"@", 1)+"/platform.git", clone)
	client := p.Kubernetes().Discovery().RESTClient()
	syncs := filepath.Join(clone, "sync", "clusters", "local", "operator.yaml")
	before, err := os.ReadFile(syncs)
	if err != nil {
		b.Fatal(err)
	}
	const interval = "interval: 10m"
	if !bytes.Contains(before, []byte(interval)) {
		b.Fatalf("%s has no %q to change", syncs, interval)
	}
	var worst time.Duration
	for i := range pushes {
		// The intervals of the operator's syncs change with each commit: what the cluster holds tells what is applied.
		changed := (time.Duration(11+i) * time.Minute).String()
		if err := os.WriteFile(syncs, bytes.ReplaceAll(before, []byte(interval), []byte("interval: "+changed)), 0o600); err != nil {
			b.Fatal(err)
		}
		git("-C", clone, "commit", "--quiet", "--all", "--message=Look after the operator every "+changed)
		git("-C", clone, "push", "--quiet")
		began := time.Now()
		err := wait.PollUntilContextTimeout(b.Context(), 20*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
			var sync struct {
				Spec struct {
					Interval string `json:"interval"`
				} `json:"spec"`
			}
			raw, err := client.Get().AbsPath("/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/platform/kustomizations/operator").DoRaw(ctx)
			if err == nil {
				err = json.Unmarshal(raw, &sync)
			}
			return sync.Spec.Interval == changed, err
		})
		if err != nil {
			b.Fatalf("wait until the operator's sync has interval %s: %v", changed, err)
		}
		worst = max(worst, time.Since(began))
	}
	figure.Seconds(b, "commit pushed to sync/ applied, the slowest of 5", worst, appliedBound)
}
