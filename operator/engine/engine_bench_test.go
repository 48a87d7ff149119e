package engine_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/workdir"
	"github.com/strata-platform/strata/test/bench/figure"
)

const (
	// rounds is how often the benchmark measures each kind of run. The median counts.
	rounds = 5

	// stacks is the number of stacks, and parallel how many of them run concurrently.
	stacks, parallel = 12, 2
)

// three is a Program with three Kubernetes objects.
const three = `name: shop
runtime: yaml
resources:
  settings: {type: kubernetes:core/v1:ConfigMap, properties: {metadata: {namespace: %[1]s}, data: {a: "1"}}}
  more: {type: kubernetes:core/v1:ConfigMap, properties: {metadata: {namespace: %[1]s}, data: {a: "${settings.metadata.name}"}}}
  secret: {type: kubernetes:core/v1:Secret, properties: {metadata: {namespace: %[1]s}, stringData: {a: "2"}}}
`

// planned is the kind of a run that plans, which bare Pulumi calls preview.
const planned = "planned"

// side is one of the two ways to run a stack.
type side struct {
	run func(b *testing.B, kind, stack string) error

	// took and cpu hold the wall and processor times of its runs, by kind.
	took, cpu map[string][]time.Duration
}

// measure runs a stack and records its times. The processor time is that of all
// processes that end during the run.
func (s *side) measure(b *testing.B, kind, stack string) {
	b.Helper()
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &before); err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if err := s.run(b, kind, stack); err != nil {
		b.Fatal(err)
	}
	took := time.Since(began)
	if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &after); err != nil {
		b.Fatal(err)
	}
	s.took[kind] = append(s.took[kind], took)
	used := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	s.cpu[kind] = append(s.cpu[kind], time.Duration(used))
}

// median returns the median of values.
func median(values []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// BenchmarkRun compares runs of a Program with three Kubernetes objects by the engine
// with runs by pulumi alone.
func BenchmarkRun(b *testing.B) {
	c := startCluster(b)
	tools := b.TempDir()
	for _, name := range []string{"pulumi", "pulumi-language-yaml", "pulumi-resource-kubernetes"} {
		link(b, tools, name)
	}
	program := fmt.Appendf(nil, three, c.namespace(b))
	e := &engine.Engine{Folders: &workdir.Folders{Parent: b.TempDir()}, Env: []string{"PATH=" + tools}, Cache: filepath.Join(b.TempDir(), "cache")}
	if err := e.Prepare(b.Context()); err != nil {
		b.Fatal(err)
	}
	state := b.TempDir()
	ours := &side{took: map[string][]time.Duration{}, cpu: map[string][]time.Duration{}, run: func(b *testing.B, kind, stack string) error {
		operation := engine.Up
		if kind == planned {
			operation = engine.Plan
		}
		_, err := e.Run(b.Context(), engine.Request{
			Operation: operation, Project: "shop", Program: program, Stack: stack, Backend: "file://" + state, BackendFolder: state,
			Env: map[string]string{"PULUMI_CONFIG_PASSPHRASE": "open sesame"}, Kubeconfig: c.kubeconfig,
		})
		return err
	}}
	pulumi := newBare(b, tools, c.kubeconfig, program)
	bare := &side{took: map[string][]time.Duration{}, cpu: map[string][]time.Duration{}, run: func(_ *testing.B, kind, stack string) error {
		if kind == planned {
			return pulumi.run("preview", "--stack", stack)
		}
		return pulumi.run("up", "--skip-preview", "--stack", stack)
	}}
	for b.Loop() {
		for i := range rounds {
			name := fmt.Sprintf("s%d", i)
			if err := pulumi.run("stack", "init", name, "--no-select"); err != nil {
				b.Fatal(err)
			}
			for _, kind := range []string{"first", "unchanged", planned} {
				bare.measure(b, kind, name)
				ours.measure(b, kind, name)
			}
		}
	}
	for kind, bound := range map[string]float64{"first": 1.3, "unchanged": 1.2, planned: 1.3} {
		figure.AtMost(b, kind+" run against bare pulumi", ratio(ours.took[kind], bare.took[kind]), bound, "x")
		figure.AtMost(b, kind+" run against bare pulumi, processor", ratio(ours.cpu[kind], bare.cpu[kind]), 0, "x")
		figure.Seconds(b, kind+" run, processor", median(ours.cpu[kind]), 0)
	}
}

func ratio(a, b []time.Duration) float64 { return median(a).Seconds() / median(b).Seconds() }

// BenchmarkRuns runs several stacks concurrently, by the engine and by pulumi alone.
func BenchmarkRuns(b *testing.B) {
	c := startCluster(b)
	tools := b.TempDir()
	for _, name := range []string{"pulumi", "pulumi-language-yaml", "pulumi-resource-kubernetes"} {
		link(b, tools, name)
	}
	program := fmt.Appendf(nil, three, c.namespace(b))
	e := &engine.Engine{Folders: &workdir.Folders{Parent: b.TempDir()}, Env: []string{"PATH=" + tools}, Cache: filepath.Join(b.TempDir(), "cache")}
	if err := e.Prepare(b.Context()); err != nil {
		b.Fatal(err)
	}
	state := b.TempDir()
	pulumi := newBare(b, tools, c.kubeconfig, program)
	all := func(up func(stack string) error) time.Duration {
		began := time.Now()
		var group errgroup.Group
		group.SetLimit(parallel)
		for i := range stacks {
			group.Go(func() error { return up(fmt.Sprintf("s%d", i)) })
		}
		if err := group.Wait(); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	for b.Loop() {
		if err := pulumi.init(stacks); err != nil {
			b.Fatal(err)
		}
		bare := all(func(stack string) error {
			if err := pulumi.run("stack", "select", stack); err != nil {
				return err
			}
			return pulumi.run("up", "--skip-preview", "--stack", stack)
		})
		ours := all(func(stack string) error {
			_, err := e.Run(b.Context(), engine.Request{
				Operation: engine.Up, Project: "shop", Program: program, Stack: stack, Backend: "file://" + state, BackendFolder: state,
				Env: map[string]string{"PULUMI_CONFIG_PASSPHRASE": "open sesame"}, Kubeconfig: c.kubeconfig,
			})
			return err
		})
		figure.AtMost(b, "concurrent runs against bare pulumi", ours.Seconds()/bare.Seconds(), 1, "x")
		figure.AtMost(b, "concurrent runs", stacks/ours.Minutes(), 0, "/min")
	}
}

// bare is pulumi as an engineer runs it, with a permanent home.
type bare struct {
	dir    string
	pulumi string
	env    []string
}

func newBare(b *testing.B, tools string, kubeconfig, program []byte) *bare {
	b.Helper()
	home, dir := b.TempDir(), b.TempDir()
	for path, content := range map[string][]byte{filepath.Join(dir, "Pulumi.yaml"): program, filepath.Join(home, "kubeconfig"): kubeconfig} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return &bare{dir, filepath.Join(tools, "pulumi"), []string{
		"PATH=" + tools, "HOME=" + home, "PULUMI_HOME=" + home, "KUBECONFIG=" + filepath.Join(home, "kubeconfig"),
		"PULUMI_BACKEND_URL=file://" + home, "PULUMI_CONFIG_PASSPHRASE=open sesame", "PULUMI_SKIP_UPDATE_CHECK=true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true",
	}}
}

// init creates the stacks s0, s1 and so on.
func (p *bare) init(stacks int) error {
	for i := range stacks {
		if err := p.run("stack", "init", fmt.Sprintf("s%d", i), "--no-select"); err != nil {
			return err
		}
	}
	return nil
}

func (p *bare) run(args ...string) error {
	var out bytes.Buffer
	cmd := exec.Command(p.pulumi, append([]string{"--non-interactive"}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env, &out, &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("pulumi %v: %w: %s", args, err, out.String())
	}
	return nil
}
