package kubernetesplugin_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/clustertest"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/soak"
)

// twoConfigMaps is a program whose objects are deleted in the default way: with foreground propagation, so that they
// still exist for a moment after the request.
const twoConfigMaps = `name: two
runtime: yaml
resources:
  first: {type: kubernetes:core/v1:ConfigMap, properties: {metadata: {name: first}}}
  second: {type: kubernetes:core/v1:ConfigMap, properties: {metadata: {name: second}}}
`

// TestSoakDestroyMissesNoDeletion creates and destroys two ConfigMaps in each round, with every core of the machine busy
// during the destroy. Upstream's plugin misses some deletions: the destroy then hangs for ten minutes.
func TestSoakDestroyMissesNoDeletion(t *testing.T) {
	rounds := soak.Rounds(t, 2)
	pulumi := project(t, startCluster(t))
	pulumi("stack", "init", "dev")
	var took []time.Duration
	for round := 1; round <= rounds; round++ {
		pulumi("up", "--yes", "--skip-preview")
		idle := burn(2 * runtime.NumCPU())
		began := time.Now()
		pulumi("destroy", "--yes", "--skip-preview")
		took = append(took, time.Since(began))
		idle()
		t.Logf("round %d of %d: destroyed in %.1fs", round, rounds, took[round-1].Seconds())
	}
	slices.Sort(took)
	t.Logf("%d destroys: median %.1fs, longest %.1fs", rounds, took[rounds/2].Seconds(), took[rounds-1].Seconds())
}

// project returns a function that runs pulumi on the program twoConfigMaps in a cluster. It fails the test if pulumi
// fails, or takes so long that it must have missed a deletion.
func project(t *testing.T, cluster *clustertest.Cluster) func(args ...string) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"Pulumi.yaml": twoConfigMaps, "kubeconfig": cluster.Kubeconfig(t, "127.0.0.1")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program, path := toolchaintest.Path(t, "pulumi"), ""
	for _, name := range []string{"pulumi-language-yaml", "pulumi-resource-kubernetes"} {
		path += filepath.Dir(toolchaintest.Path(t, name)) + string(os.PathListSeparator)
	}
	env := []string{
		"PATH=" + path + "/usr/bin:/bin", "HOME=" + dir, "TMPDIR=" + dir, "PULUMI_HOME=" + filepath.Join(dir, ".pulumi"),
		"KUBECONFIG=" + filepath.Join(dir, "kubeconfig"), "PULUMI_BACKEND_URL=file://" + dir, "PULUMI_CONFIG_PASSPHRASE=test",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true", "PULUMI_SKIP_UPDATE_CHECK=true",
	}
	return func(args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), missedAfter)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, append(args, "--non-interactive")...)
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.Dir, cmd.Env, cmd.WaitDelay = dir, env, time.Minute
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("pulumi %s: %v (context: %v)\n%s", args[0], err, ctx.Err(), out)
		}
	}
}

// burn keeps the given number of goroutines busy until the caller calls stop.
func burn(goroutines int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var burning sync.WaitGroup
	for range goroutines {
		burning.Go(func() {
			for ctx.Err() == nil {
			}
		})
	}
	return func() {
		cancel()
		burning.Wait()
	}
}

// atOnce is the number of objects that a round of TestSoakDeletionsAtOnce deletes at the same time.
const atOnce = 10

// TestSoakDeletionsAtOnce deletes objects with one plugin while all cores of the machine are busy: the informers' lists
// then arrive late, and sometimes after the garbage collector's work.
func TestSoakDeletionsAtOnce(t *testing.T) {
	rounds := soak.Rounds(t, 1)
	cluster := startCluster(t)
	p := startPlugin(t, cluster.Kubeconfig(t, "127.0.0.1"))
	defer burn(2 * runtime.NumCPU())()
	for round := 1; round <= rounds; round++ {
		var objects []*corev1.ConfigMap
		for i := range atOnce {
			made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("object-%d", i), Namespace: metav1.NamespaceDefault}}
			if err := cluster.Create(t.Context(), made); err != nil {
				t.Fatal(err)
			}
			objects = append(objects, made)
		}
		began := time.Now()
		var deleting sync.WaitGroup
		for _, made := range objects {
			deleting.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), missedAfter)
				defer cancel()
				if err := p.remove(ctx, t, made, 0); err != nil {
					t.Errorf("the deletion of %s: %v", made.Name, err)
				}
			})
		}
		deleting.Wait()
		t.Logf("round %d of %d: deleted %d objects in %.1fs", round, rounds, atOnce, time.Since(began).Seconds())
		if t.Failed() {
			return
		}
	}
}
