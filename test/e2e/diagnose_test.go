package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// script gives access to the test of a script, which testscript hides.
type script struct {
	*testing.T
	// sequential runs scripts one after the other, and skips the scripts after a failure.
	sequential bool
}

// Run runs a script as a subtest.
func (s script) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) {
		if s.sequential && s.Failed() {
			t.Skip("an earlier script failed, so the state of the platform is unknown")
		}
		f(script{t, s.sequential})
	})
}

// Parallel lets other scripts run at the same time.
func (s script) Parallel() {
	if !s.sequential {
		s.T.Parallel()
	}
}

// Verbose reports whether to print the log even if nothing failed.
func (s script) Verbose() bool { return testing.Verbose() }

const (
	// diagnoseTimeout limits the diagnosis of a failed platform.
	diagnoseTimeout = 30 * time.Second
	// diagnoseLines is the number of last lines of a log, or of last events, to show.
	diagnoseLines = 40
)

// diagnose logs the state of a platform whose script failed: its status, the operator's log, and the warnings in its
// cluster.
func diagnose(env *testscript.Env) {
	t, ok := env.T().(script)
	if !ok || !t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), diagnoseTimeout)
	defer cancel()
	for _, args := range [][]string{{"status"}, {"logs", "pulumi-operator"}} {
		command := exec.CommandContext(ctx, filepath.Join(strataDir, "strata"), args...)
		command.Dir, command.Env = root, env.Vars
		out, err := command.CombinedOutput()
		lines := strings.Split(strings.TrimSpace(string(bytes.ToValidUTF8(out, nil))), "\n")
		t.Logf("strata %s (%v):\n%s", strings.Join(args, " "), err, strings.Join(last(lines), "\n"))
	}
	warnings, err := warningsIn(ctx, env.Getenv("STRATA_HOME"))
	t.Logf("warnings of the cluster (%v):\n%s", err, strings.Join(last(warnings), "\n"))
}

func last(lines []string) []string { return lines[max(0, len(lines)-diagnoseLines):] }

// warningsIn returns the warnings among a cluster's events, the oldest first.
func warningsIn(ctx context.Context, dir string) ([]string, error) {
	h, err := home.At(dir)
	if err != nil {
		return nil, err
	}
	client, err := clientOf(h.AdminKubeconfig())
	if err != nil {
		return nil, err
	}
	events, err := client.CoreV1().Events("").List(ctx, metav1.ListOptions{FieldSelector: "type=" + corev1.EventTypeWarning})
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(events.Items, func(a, b corev1.Event) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	var lines []string
	for _, e := range events.Items {
		lines = append(lines, fmt.Sprintf("%s %s %s/%s: %s: %s", e.CreationTimestamp.UTC().Format(time.TimeOnly),
			e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name, e.Reason, e.Message))
	}
	return lines, nil
}
