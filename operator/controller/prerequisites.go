package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// mostPrerequisites bounds how many Stacks come before another, directly or indirectly.
// Each check reads all of them.
const mostPrerequisites = 100

// unmet is the error of unsatisfied prerequisites. A change of one of them wakes the
// Stack.
type unmet struct{ message string }

// Error implements error.
func (u *unmet) Error() string { return u.message }

// prerequisites checks that all prerequisites of the Stack have succeeded.
// prerequisites requests a new run of a prerequisite that succeeded too long ago.
func (s *session) prerequisites(ctx context.Context) error {
	if n := len(s.stack.Spec.Prerequisites); n > mostPrerequisites {
		return invalid("spec.prerequisites: %d Stacks, more than %d: remove some", n, mostPrerequisites)
	}
	var problems []string
	// seen is shared: a Stack that is in no circle from one prerequisite is in none from
	// another.
	seen := map[string]bool{}
	for _, required := range s.stack.Spec.Prerequisites {
		problem, err := s.prerequisite(ctx, required, seen)
		if err != nil {
			return err
		}
		if problem != "" {
			problems = append(problems, problem)
		}
	}
	if problems == nil {
		return nil
	}
	return &unmet{"spec.prerequisites: " + strings.Join(problems, "; ")}
}

func (s *session) prerequisite(ctx context.Context, required v1.PrerequisiteRef, seen map[string]bool) (problem string, err error) {
	key := client.ObjectKey{Namespace: s.stack.Namespace, Name: required.Name}
	if key.Name == s.stack.Name {
		return "", invalid("spec.prerequisites: Stack %s is its own prerequisite: remove it", key.Name)
	}
	s.depend(dependency{scope{stackResource, key.Namespace}, key.Name})
	stack := &v1.Stack{}
	if err := s.reader.Get(ctx, key, stack); apierrors.IsNotFound(err) {
		return fmt.Sprintf("there is no Stack %s", key), nil
	} else if err != nil {
		return "", fmt.Errorf("spec.prerequisites: %w", err)
	}
	circle, err := s.circle(ctx, stack, seen)
	if err != nil {
		return "", err
	}
	if circle != nil {
		return "", invalid("spec.prerequisites: Stacks wait for each other: %s -> %s: remove one of these", s.stack.Name, strings.Join(circle, " -> "))
	}
	last := stack.Status.LastUpdate
	switch {
	case !stack.DeletionTimestamp.IsZero():
		return fmt.Sprintf("Stack %s is being deleted", key.Name), nil
	case last == nil || last.Generation != stack.Generation || last.ReconcileRequest != stack.Annotations[v1.ReconcileRequestAnnotation]:
		return fmt.Sprintf("Stack %s has not run to its end yet", key.Name), nil
	case last.State != v1.SucceededStackStateMessage:
		return fmt.Sprintf("the last update of Stack %s failed", key.Name), nil
	}
	limit := required.Requirement
	if limit == nil || limit.SucceededWithinDuration == nil {
		return "", nil
	}
	age := time.Since(last.LastResyncTime.Time)
	if age <= limit.SucceededWithinDuration.Duration {
		return "", nil
	}
	if err := s.rerun(ctx, stack, "after-"+last.Name); err != nil {
		return "", fmt.Errorf("spec.prerequisites: ask Stack %s to run again: %w", key, err)
	}
	return fmt.Sprintf("Stack %s succeeded %s ago, not within %s; it is asked to run again", key.Name, age.Round(time.Second), limit.SucceededWithinDuration.Duration), nil
}

// circle returns the path by which a prerequisite leads back to the Stack, or nil if
// there is none. Stacks that wait for each other would wait forever.
func (s *session) circle(ctx context.Context, stack *v1.Stack, seen map[string]bool) ([]string, error) {
	seen[stack.Name] = true
	if len(seen) > mostPrerequisites {
		return nil, invalid("spec.prerequisites: more than %d Stacks come before this one: remove some", mostPrerequisites)
	}
	for _, required := range stack.Spec.Prerequisites {
		if required.Name == s.stack.Name {
			return []string{stack.Name, required.Name}, nil
		}
		if seen[required.Name] {
			continue
		}
		next := &v1.Stack{}
		err := s.reader.Get(ctx, client.ObjectKey{Namespace: s.stack.Namespace, Name: required.Name}, next)
		if apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("spec.prerequisites: %w", err)
		}
		if rest, err := s.circle(ctx, next, seen); rest != nil || err != nil {
			return append([]string{stack.Name}, rest...), err
		}
	}
	return nil, nil
}

// rerun requests a new run of a Stack. Several dependants with the same request cause
// one run.
func (s *session) rerun(ctx context.Context, stack *v1.Stack, request string) error {
	if stack.Annotations[v1.ReconcileRequestAnnotation] == request {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{v1.ReconcileRequestAnnotation: request},
		// The patch fails if the Stack has changed in the meantime, because it may have run.
		"resourceVersion": stack.ResourceVersion,
	}})
	if err != nil {
		return err
	}
	return s.client.Patch(ctx, stack, client.RawPatch(types.MergePatchType, patch))
}
