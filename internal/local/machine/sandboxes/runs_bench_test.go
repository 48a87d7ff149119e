//go:build linux

package sandboxes_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/bench/figure"
)

// BenchmarkPulumi compares `pulumi up` in a pod with `pulumi up` on this machine (decision 31).
func BenchmarkPulumi(b *testing.B) {
	const rounds = 5
	tools, work := b.TempDir(), b.TempDir()
	for _, name := range []string{"pulumi", "pulumi-language-yaml"} {
		if err := os.Symlink(toolchaintest.Path(b, name), filepath.Join(tools, name)); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(work, "Pulumi.yaml"), []byte("name: p\nruntime: yaml\noutputs: {a: b}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	env := []string{"PATH=" + tools + ":/usr/bin:/bin", "HOME=" + work, "PULUMI_CONFIG_PASSPHRASE=open sesame", "PULUMI_SKIP_UPDATE_CHECK=true",
		"PULUMI_BACKEND_URL=file://" + work}
	initial := exec.Command(filepath.Join(tools, "pulumi"), "stack", "init", "s")
	initial.Env, initial.Dir = env, work
	if out, err := initial.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	args := []string{filepath.Join(tools, "pulumi"), "up", "--yes", "--skip-preview", "--stack", "s"}
	bare, boxed := []time.Duration{}, []time.Duration{}
	h := start(b)
	for range rounds {
		began := time.Now()
		command := exec.Command(args[0], args[1:]...)
		command.Env, command.Dir = env, work
		if out, err := command.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		bare = append(bare, time.Since(began))

		began = time.Now()
		p := create(b, h, spec.Pod{})
		var out bytes.Buffer
		process, err := p.Start(b.Context(), spec.Container{
			ID: "run", RootFS: spec.RootFS{Folder: "/"},
			Mounts:  []spec.Mount{{Kind: spec.Bind, Source: work, Target: work}},
			Process: spec.Process{Args: args, Env: env, Cwd: work},
		}, sandboxes.Streams{Stdout: &out, Stderr: &out})
		if err != nil {
			b.Fatal(err)
		}
		if exit, err := process.Wait(b.Context()); err != nil || exit.Code != 0 {
			b.Fatal(exit, err, out.String())
		}
		boxed = append(boxed, time.Since(began))
		if err := p.Remove(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	slices.Sort(bare)
	slices.Sort(boxed)
	figure.Seconds(b, "pulumi up on this machine", bare[rounds/2], 0)
	figure.Seconds(b, "pulumi up in a pod", boxed[rounds/2], 0)
}
