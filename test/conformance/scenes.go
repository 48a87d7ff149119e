package conformance

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/conformance/internal/observe"
)

// script is a scene before it is played.
type script struct {
	name string
	// own leaves the scene out if only the shared statements are checked.
	own  bool
	play func(*scene)
}

// scripts returns all scenes. The first one begins with the first statement.
func scripts() []script {
	return []script{
		{"life", false, life}, {"keep", false, keep}, {"failure", false, failure}, {"inputs", false, inputs}, {"env", false, passphrase},
		{"late", false, lateSecret}, {"missing", false, missingProgram}, {"order", false, prerequisite}, {"preview", false, preview},
		{"refresh", false, refresh}, {"orphan", false, orphan}, {"names", false, longName}, {"never", true, neverRun}, {"short", true, short},
	}
}

// lifeProgram has a resource that changes with SIZE, and one that does not.
const lifeProgram = `
resources:
  settings: {type: "kubernetes:core/v1:ConfigMap", properties: {metadata: {name: NAME-settings, OWN}, data: {size: "SIZE"}}}
  password: {type: "random:RandomPassword", properties: {length: 24, special: false}}
  login:
    type: kubernetes:core/v1:Secret
    properties: {metadata: {name: NAME-login, OWN}, stringData: {password: "${password.result}"}}
outputs: {size: "SIZE", list: [1, two], login: "${login.metadata.name}", password: "${password.result}"}
`

// life takes a Stack from its creation to its destruction.
func life(s *scene) {
	settings, login := s.name+"-settings", s.name+"-login"
	var stack *v1.Stack
	s.program(strings.ReplaceAll(lifeProgram, "SIZE", "small"))
	s.stack(s.name, "")
	s.hold("stack-ready", func() (seen string, err error) {
		if stack, err = s.await(s.name, "Ready", observe.Ready); err != nil {
			return "", err
		}
		reconciling, stalled := observe.Condition(stack, v1.ReconcilingCondition), observe.Condition(stack, v1.StalledCondition)
		if observe.Condition(stack, v1.ReadyCondition).Reason != v1.ReadyCompletedReason || reconciling.Status == metav1.ConditionTrue || stalled.Status == metav1.ConditionTrue {
			return "", errors.New(observe.Describe(stack))
		}
		return observe.Describe(stack), nil
	})
	s.hold("stack-current", func() (string, error) {
		if got, err := s.kstatus(s.name); err != nil || got != status.CurrentStatus {
			return "", errors.Join(err, fmt.Errorf("kstatus says %s", got))
		}
		return "kstatus says Current", nil
	})
	s.hold("update-recorded", func() (string, error) {
		last := *stack.Status.LastUpdate
		seen := fmt.Sprintf("%s %s, generation %d of %d, revision %q, at %s", last.Type, last.State, last.Generation, stack.Generation, last.LastSuccessfulCommit, last.LastResyncTime)
		if last.Type != v1.UpType || last.State != v1.SucceededStackStateMessage || last.LastSuccessfulCommit == "" || last.LastAttemptedCommit != last.LastSuccessfulCommit ||
			last.LastResyncTime.IsZero() || stack.Status.CurrentUpdate != nil || last.Name == "" {
			return "", errors.New(seen)
		}
		return seen, nil
	})
	s.hold("program-observed", func() (string, error) {
		program, err := s.until(s.ctx, programs, s.name, "observed", observe.Observed, observe.Program)
		if err != nil {
			return "", err
		}
		return observe.Program(program), nil
	})
	s.hold("program-ready", func() (string, error) {
		program, err := s.until(s.ctx, programs, s.name, "Ready", func(object *unstructured.Unstructured) bool {
			return observe.Observed(object) && observe.ProgramCondition(object, v1.ReadyCondition) == "True"
		}, observe.Program)
		if err != nil {
			return "", err
		}
		return observe.Program(program), nil
	})
	s.hold("resources", func() (string, error) { return s.sized(settings, "small") })
	s.hold("outputs", func() (string, error) {
		return observe.Outputs(stack, map[string]string{"size": `"small"`, "list": `[1,"two"]`, "login": `"` + login + `"`})
	})
	s.hold("secret-outputs", func() (string, error) { return s.masked(stack, login) })

	before, kept := stack, s.uid(secrets, login)
	s.program(strings.ReplaceAll(lifeProgram, "SIZE", "large"))
	s.hold("program-changed", func() (seen string, err error) {
		if stack, err = s.await(s.name, "Ready after another run", func(now *v1.Stack) bool {
			return observe.ReadyAfter(before)(now) && now.Status.LastUpdate.LastSuccessfulCommit != before.Status.LastUpdate.LastSuccessfulCommit
		}); err != nil {
			return "", err
		}
		if _, err := s.sized(settings, "large"); err != nil {
			return "", err
		}
		return observe.Outputs(stack, map[string]string{"size": `"large"`})
	})
	s.hold("unchanged-kept", func() (string, error) { return s.same(secrets, login, kept) })
	s.annotate(s.name, v1.ReconcileRequestAnnotation, "again-"+s.id)
	s.hold("run-requested", func() (string, error) {
		before := stack
		after, err := s.await(s.name, "Ready after the request", func(now *v1.Stack) bool {
			return observe.ReadyAfter(before)(now) && now.Status.ObservedReconcileRequest == "again-"+s.id && now.Status.LastUpdate.ReconcileRequest == "again-"+s.id
		})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("run %s served %s", after.Status.LastUpdate.Name, after.Status.LastUpdate.ReconcileRequest), nil
	})
	s.drop(stacks, s.name)
	s.hold("destroyed", func() (string, error) { return s.destroyed(settings, login) })
}

// keep deletes a Stack without its resources, and creates it again.
func keep(s *scene) {
	settings, login := s.name+"-settings", s.name+"-login"
	s.program(strings.ReplaceAll(lifeProgram, "SIZE", "kept"))
	s.stack(s.name, "destroyOnFinalize: false")
	var kept [2]string
	s.change(func() error {
		_, err := s.await(s.name, "Ready", observe.Ready)
		return err
	})
	if !s.broken() {
		s.repairs = append(s.repairs, s.recreate(s.name, ""))
		kept = [2]string{s.uid(configMaps, settings), s.uid(secrets, login)}
	}
	s.drop(stacks, s.name)
	s.hold("kept", func() (string, error) {
		if err := s.gone(s.name); err != nil {
			return "", err
		}
		if seen, err := s.same(configMaps, settings, kept[0]); err != nil {
			return seen, err
		}
		return s.same(secrets, login, kept[1])
	})
	s.stack(s.name, "")
	s.hold("taken-over", func() (string, error) {
		if _, err := s.await(s.name, "Ready", observe.Ready); err != nil {
			return "", err
		}
		if seen, err := s.same(configMaps, settings, kept[0]); err != nil {
			return seen, err
		}
		return s.same(secrets, login, kept[1])
	})
}

// longName tries the longest allowed name and a longer one, without creating either.
func longName(s *scene) {
	s.hold("name-limit", func() (string, error) {
		name := s.name + strings.Repeat("x", 43-len(s.name))
		for _, each := range []struct {
			name  string
			valid bool
		}{{name[:42], true}, {name, false}} {
			object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
				"stack": "names", "programRef": map[string]any{"name": s.name}, "envRefs": s.environment(),
			}}}
			object.SetGroupVersionKind(stacks.GroupVersion().WithKind(stacks.kind))
			object.SetName(each.name)
			if s.ServiceAccount != "" {
				_ = unstructured.SetNestedField(object.Object, s.ServiceAccount, "spec", "serviceAccountName")
			}
			_, err := s.of(stacks).Create(s.ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if each.valid == (err != nil) {
				return "", errors.Join(fmt.Errorf("a name of %d characters", len(each.name)), err)
			} else if err != nil && !strings.Contains(err.Error(), "42") {
				return "", fmt.Errorf("a name of %d characters is rejected for another reason: %w", len(each.name), err)
			}
		}
		return "42 characters are accepted, 43 are rejected", nil
	})
}

// destroyed waits until the scene's Stack is gone, and checks that a ConfigMap and a Secret are gone then.
func (s *scene) destroyed(settings, login string) (string, error) {
	if err := s.gone(s.name); err != nil {
		return "", err
	}
	if err := errors.Join(s.absent(configMaps, settings), s.absent(secrets, login)); err != nil {
		return "", fmt.Errorf("the Stack is gone, but %w", err)
	}
	return "the Stack, the ConfigMap and the Secret are gone", nil
}
