package conformance

import (
	"errors"
	"fmt"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/conformance/internal/observe"
)

// smallProgram has one resource.
const smallProgram = `
resources:
  settings: {type: "kubernetes:core/v1:ConfigMap", properties: {metadata: {name: NAME-settings, OWN}, data: {size: small}}}
outputs: {size: small}
`

// missingProgram creates a Stack before its Program.
func missingProgram(s *scene) {
	s.stack(s.name, "")
	s.hold("program-missing", func() (string, error) {
		stack, err := s.await(s.name, "Stalled", func(stack *v1.Stack) bool {
			return observe.Unready(stack) && observe.Condition(stack, v1.StalledCondition).Reason == v1.StalledSourceUnavailableReason
		})
		if err != nil {
			return "", err
		}
		return observe.Describe(stack), observe.NeverRan(stack)
	})
	s.program(smallProgram)
	s.hold("program-created", func() (string, error) { return s.settled(s.name) })
}

// neverRun deletes a Stack whose Program has never existed.
func neverRun(s *scene) {
	s.stack(s.name, "")
	s.change(func() error {
		_, err := s.await(s.name, "Stalled", observe.Unready)
		return err
	})
	s.drop(stacks, s.name)
	s.hold("never-run-deleted", func() (string, error) { return "the Stack is gone", s.gone(s.name) })
}

// prerequisite creates a Stack before the Stack that it waits for.
func prerequisite(s *scene) {
	first := s.name + "-first"
	s.program(`outputs: {size: small}`)
	s.stack(s.name, "prerequisites: [{name: "+first+"}]")
	s.hold("prerequisite-awaited", func() (string, error) {
		stack, err := s.await(s.name, "waiting for its prerequisite", func(stack *v1.Stack) bool {
			return observe.Unready(stack) && observe.Condition(stack, v1.ReconcilingCondition).Reason == v1.ReconcilingPrerequisiteNotSatisfiedReason
		})
		if err != nil {
			return "", err
		}
		return observe.Describe(stack), observe.NeverRan(stack)
	})
	s.stack(first, "")
	s.hold("prerequisite-succeeded", func() (string, error) {
		second, err := s.await(s.name, "Ready", observe.Ready)
		if err != nil {
			return "", err
		}
		earlier, err := s.await(first, "Ready", observe.Ready)
		if err != nil {
			return "", err
		}
		seen := fmt.Sprintf("%s ran at %s, %s at %s", first, earlier.Status.LastUpdate.LastResyncTime, s.name, second.Status.LastUpdate.LastResyncTime)
		if second.Status.LastUpdate.LastResyncTime.Before(&earlier.Status.LastUpdate.LastResyncTime) {
			return "", errors.New(seen)
		}
		return seen, nil
	})
}

// lateSecret creates a Stack before a Secret of its environment. While the Stack waits, a later Stack of the same Program runs.
func lateSecret(s *scene) {
	other := s.name + "-other"
	s.program(`outputs: {size: small}`)
	s.stack(s.name, "envRefs: {CONFORMANCE_TOKEN: {type: Secret, secret: {name: NAME-token, key: token}}}")
	s.stack(other, "")
	s.hold("secret-missing", func() (string, error) {
		if _, err := s.settled(other); err != nil {
			return "", err
		}
		stack, err := s.await(s.name, "waiting for the Secret", observe.Unready)
		if err != nil {
			return "", err
		}
		return observe.Describe(stack), observe.NeverRan(stack)
	})
	s.values(secrets, s.name+"-token", map[string]any{"token": "present"})
	s.hold("secret-created", func() (string, error) { return s.settled(s.name) })
}

// preview previews a Stack before it applies it.
func preview(s *scene) {
	settings := s.name + "-settings"
	s.program(smallProgram)
	s.stack(s.name, "preview: true")
	s.hold("preview", func() (string, error) {
		stack, err := s.await(s.name, "Ready", observe.Ready)
		if err != nil {
			return "", err
		}
		if stack.Status.LastUpdate.Type != v1.PreviewType {
			return "", errors.New(observe.Describe(stack))
		}
		return observe.Describe(stack), s.absent(configMaps, settings)
	})
	s.stack(s.name, "preview: false")
	s.hold("preview-ended", func() (string, error) {
		if _, err := s.settled(s.name); err != nil {
			return "", err
		}
		return s.sized(settings, "small")
	})
}

// refresh deletes a resource behind the Stack's back.
func refresh(s *scene) {
	settings := s.name + "-settings"
	s.program(smallProgram)
	s.stack(s.name, "refresh: true")
	var before *v1.Stack
	s.change(func() (err error) {
		before, err = s.await(s.name, "Ready", observe.Ready)
		return err
	})
	s.drop(configMaps, settings)
	s.annotate(s.name, v1.ReconcileRequestAnnotation, "refresh-"+s.id)
	s.hold("refreshed", func() (string, error) {
		if _, err := s.await(s.name, "Ready after the request", observe.ReadyAfter(before)); err != nil {
			return "", err
		}
		return s.sized(settings, "small")
	})
}

// orphan deletes a Program before its Stack.
func orphan(s *scene) {
	settings := s.name + "-settings"
	s.program(smallProgram)
	s.stack(s.name, "")
	s.change(func() error {
		_, err := s.settled(s.name)
		return err
	})
	s.drop(programs, s.name)
	s.drop(stacks, s.name)
	s.hold("destroyed-without-program", func() (string, error) { return s.destroyed(settings, s.name+"-login") })
}

// settled waits until a Stack is Ready, and describes it.
func (s *scene) settled(name string) (string, error) {
	stack, err := s.await(name, "Ready", observe.Ready)
	if err != nil {
		return "", err
	}
	return observe.Describe(stack), nil
}
