package conformance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/conformance/internal/observe"
)

// brokenName is a name that no API server accepts.
const brokenName = "Not_A_Name"

// withBroken returns a Program with one more resource, which the API server rejects.
func withBroken(program string) string {
	return strings.Replace(program, "resources:\n", `resources:
  broken: {type: "kubernetes:core/v1:ConfigMap", properties: {metadata: {name: `+brokenName+`, OWN}}}
`, 1)
}

// failure breaks a Program that has run, and corrects it.
func failure(s *scene) {
	settings, login := s.name+"-settings", s.name+"-login"
	program := strings.ReplaceAll(lifeProgram, "SIZE", "small")
	s.program(program)
	s.stack(s.name, "")
	var before, failed *v1.Stack
	s.change(func() (err error) {
		before, err = s.await(s.name, "Ready", observe.Ready)
		return err
	})
	kept := [2]string{s.uid(configMaps, settings), s.uid(secrets, login)}
	s.program(withBroken(program))
	s.hold("failure-reported", func() (seen string, err error) {
		reasons := []string{v1.ReconcilingRetryReason, v1.StalledUpdateFailedReason}
		failed, err = s.await(s.name, "failed", func(stack *v1.Stack) bool {
			last := observe.Condition(stack, v1.ReconcilingCondition).Reason + observe.Condition(stack, v1.StalledCondition).Reason
			return observe.Failed(stack) && slices.Contains(reasons, last) && stack.Status.LastUpdate.State == v1.FailedStackStateMessage && stack.Status.LastUpdate.Message != ""
		})
		if err != nil {
			return "", err
		}
		return observe.Describe(failed), nil
	})
	s.hold("failure-not-current", func() (string, error) {
		got, err := s.kstatus(s.name)
		if err != nil || got != status.InProgressStatus && got != status.FailedStatus {
			return "", errors.Join(err, fmt.Errorf("kstatus says %s", got))
		}
		return "kstatus says " + got.String(), nil
	})
	s.hold("failure-explained", func() (string, error) {
		message := observe.Condition(failed, v1.ReadyCondition).Message
		if !strings.Contains(message, brokenName) || !strings.Contains(message, "broken") || strings.Contains(strings.TrimSpace(message), "\n") {
			return "", fmt.Errorf("the message is %q", message)
		}
		return message, nil
	})
	s.hold("failure-loses-nothing", func() (string, error) {
		if got, want := failed.Status.LastUpdate.LastSuccessfulCommit, before.Status.LastUpdate.LastSuccessfulCommit; got != want {
			return "", fmt.Errorf("the last successful revision was %q, and is %q", want, got)
		}
		if _, err := observe.Outputs(failed, map[string]string{"size": `"small"`, "password": `"` + v1.SecretOutput + `"`}); err != nil {
			return "", err
		}
		if seen, err := s.same(configMaps, settings, kept[0]); err != nil {
			return seen, err
		}
		return s.same(secrets, login, kept[1])
	})
	s.program(program)
	s.hold("failure-repaired", func() (string, error) {
		if _, err := s.await(s.name, "Ready after another run", observe.ReadyAfter(before)); err != nil {
			return "", err
		}
		return s.same(secrets, login, kept[1])
	})
	if !s.SharedOnly {
		s.invalid()
	}
}

// invalid replaces the Program by one that cannot run.
func (s *scene) invalid() {
	before := s.present()
	s.program(`outputs: {size: "${nowhere.size}"}`)
	s.hold("program-invalid", func() (string, error) {
		program, err := s.until(s.ctx, programs, s.name, "Stalled", func(object *unstructured.Unstructured) bool {
			return observe.Observed(object) && observe.ProgramCondition(object, v1.StalledCondition) == "True"
		}, observe.Program)
		if err != nil {
			return "", err
		}
		stack, err := s.await(s.name, "Stalled", func(stack *v1.Stack) bool {
			return observe.Condition(stack, v1.StalledCondition).Reason == v1.StalledSourceUnavailableReason
		})
		if err != nil {
			return "", err
		}
		if stack.Status.LastUpdate.Name != before.Status.LastUpdate.Name {
			return "", errors.New("it has run: " + observe.Describe(stack))
		}
		return observe.Program(program) + "; " + observe.Describe(stack), nil
	})
}

// present returns the scene's Stack as it is now.
func (s *scene) present() *v1.Stack {
	stack := &v1.Stack{Status: v1.StackStatus{LastUpdate: &v1.StackUpdateState{}}}
	s.change(func() error {
		object, err := s.find(stacks, s.name)
		if err == nil {
			stack = observe.Stack(object)
		}
		return err
	})
	return stack
}
