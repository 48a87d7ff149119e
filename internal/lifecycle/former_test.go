package lifecycle

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/status/wait"
)

const (
	goneNamespace = `{"kind": "NamespaceList", "apiVersion": "v1", "items": [{"metadata": {"name": "team-gone", "labels": {"strata.dev/team": "gone"}}}]}`
	goneStacks    = `{"kind": "StackList", "apiVersion": "pulumi.com/v1", "items": [
		{"kind": "Stack", "apiVersion": "pulumi.com/v1", "metadata": {"name": "shop", "namespace": "team-gone"}, "spec": {"destroyOnFinalize": true}},
		{"kind": "Stack", "apiVersion": "pulumi.com/v1", "metadata": {"name": "kept", "namespace": "team-gone"}, "spec": {}}]}`
)

func TestATeamThatWasRemovedKeepsItsIdentityWhileItsStacksLive(t *testing.T) {
	target := newTestTarget(t, map[string]string{"/api/v1/namespaces": goneNamespace, "/apis/pulumi.com/v1/stacks": goneStacks})
	p := New(target)
	for name, do := range map[string]func() error{
		"the end of its namespace": func() error { return p.endFormer(t.Context(), progress.New(io.Discard)) },
		"layer 1":                  func() error { _, err := p.LayerUp(t.Context(), progress.New(io.Discard), BootstrapLayer); return err },
		"layer 2":                  func() error { _, err := p.LayerUp(t.Context(), progress.New(io.Discard), PlatformLayer); return err },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "nothing was changed: these Stacks and orders are in namespaces of teams that are no longer in teams.yaml: team-gone/shop, team-gone/kept") {
			t.Errorf("%s: it says %v", name, err)
		}
	}
	var printed strings.Builder
	p.Plan(t.Context(), false).Print(&printed)
	for _, want := range []string{"2 Stacks: team-gone/shop, team-gone/kept (its resources stay", " 1 resources\n5. layer 1: destroy bootstrap"} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("the plan of down does not say %q:\n%s", want, &printed)
		}
	}
	target.cluster.Close()
	if _, err := p.LayerUp(t.Context(), progress.New(io.Discard), BootstrapLayer); err == nil || !strings.Contains(err.Error(), "team-gone belongs to a team that is no longer in teams.yaml, and the list of its Stacks is not available") {
		t.Errorf("where the cluster does not answer: it says %v", err)
	}
}

func TestTheIdentityOfARemovedTeamOutlivesItsNamespace(t *testing.T) {
	p := New(newTestTarget(t, map[string]string{"/api/v1/namespaces": goneNamespace}))
	if err := p.refuseFormer(t.Context(), BootstrapLayer); err == nil || !strings.Contains(err.Error(), "run `strata layer up platform` first") {
		t.Errorf("layer 1: it says %v", err)
	}
	if err := p.refuseFormer(t.Context(), PlatformLayer); err != nil {
		t.Errorf("layer 2, which deletes the namespace, is refused: %v", err)
	}
}

// TestADeletedClusterDoesNotBlockALayer covers a `down` that was interrupted in layer 1: layer 1 still outputs the kubeconfig of
// the deleted cluster.
func TestADeletedClusterDoesNotBlockALayer(t *testing.T) {
	target := newTestTarget(t, nil)
	target.cluster.Close()
	delete(target.states, PlatformLayer)
	p := New(target)
	for name, do := range map[string]func() error{
		"destroy the Stacks": func() error {
			for _, step := range p.downSteps(t.Context(), false) {
				if step.Name == stacksStep || step.Name == namespacesStep {
					if _, err := step.Do(t.Context(), progress.New(io.Discard)); err != nil {
						return err
					}
				}
			}
			return nil
		},
		"destroy layer 2": func() error { return p.noStacks(t.Context()) },
		"run layer 1":     func() error { return p.refuseFormer(t.Context(), BootstrapLayer) },
		"prepare for layer 2": func() error {
			run, err := target.Open(t.Context(), PlatformLayer)
			return errors.Join(err, p.resume(t.Context(), run, nil))
		},
		"say what would be done": func() error {
			if unknown := p.Plan(t.Context(), false).Unknown; unknown != "" {
				return errors.New(unknown)
			}
			return nil
		},
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStatusThatIsWaitedForEndsWithTheInterruptOfItsCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := New(newTestTarget(t, nil)).WaitReady(ctx, wait.All, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("an interrupted wait ends with %v", err)
	}
}
