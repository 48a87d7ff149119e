// Package prerequisites checks the Stacks that have to succeed before another Stack runs.
package prerequisites

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
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/fields"
)

// UnmetError is the error of unsatisfied prerequisites. A change of one of them wakes the
// Stack.
type UnmetError struct{ message string }

// Error implements error.
func (u *UnmetError) Error() string { return u.message }

// Checker checks the prerequisites of one Stack.
type Checker struct {
	// Client writes the annotation that requests a new run of a prerequisite.
	Client client.Client

	// Reader reads from the API server.
	Reader client.Reader

	// Stack is the Stack that has the prerequisites.
	Stack *v1.Stack

	// Depend is called with each prerequisite before the Checker reads it.
	Depend func(dependents.Object)
}

// Check returns an [*UnmetError] unless all prerequisites of the Stack have succeeded. Check
// requests a new run of a prerequisite that succeeded too long ago.
func (c *Checker) Check(ctx context.Context) error {
	if err := fields.CheckPrerequisites(c.Stack); err != nil {
		return err
	}
	var problems []string
	circles := newCircles(c.Stack, func(name string) (*v1.Stack, error) { return c.read(ctx, name) })
	for _, required := range c.Stack.Spec.Prerequisites {
		problem, err := c.prerequisite(ctx, required, circles)
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
	return &UnmetError{"spec.prerequisites: " + strings.Join(problems, "; ")}
}

// prerequisite returns why a prerequisite is not met yet, or "". The error is for a failed request, and for a prerequisite that
// can never be met. If the success is too old, prerequisite requests a new run, because nothing else would start one.
func (c *Checker) prerequisite(ctx context.Context, required v1.PrerequisiteRef, circles *circles) (problem string, err error) {
	key := client.ObjectKey{Namespace: c.Stack.Namespace, Name: required.Name}
	c.Depend(dependents.On(dependents.Stacks, key.Namespace, key.Name))
	stack, err := c.read(ctx, key.Name)
	if err != nil {
		return "", err
	}
	if stack == nil {
		return fmt.Sprintf("there is no Stack %s", key), nil
	}
	if err := circles.check(stack); err != nil {
		return "", err
	}
	last := stack.Status.LastUpdate
	switch {
	case !stack.DeletionTimestamp.IsZero():
		return fmt.Sprintf("Stack %s is being deleted", key.Name), nil
	case last == nil || last.Generation != stack.Generation || last.ReconcileRequest != stack.Annotations[v1.ReconcileRequestAnnotation]:
		return fmt.Sprintf("Stack %s has not finished its run yet", key.Name), nil
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
	if err := c.rerun(ctx, stack, "after-"+last.Name); err != nil {
		return "", fmt.Errorf("spec.prerequisites: request a new run of Stack %s: %w", key, err)
	}
	return fmt.Sprintf("Stack %s succeeded %s ago, not within %s; the operator has requested a new run", key.Name, age.Round(time.Second), limit.SucceededWithinDuration.Duration), nil
}

// read returns a Stack of the same namespace, or nil if there is none.
func (c *Checker) read(ctx context.Context, name string) (*v1.Stack, error) {
	stack := &v1.Stack{}
	if err := c.Reader.Get(ctx, client.ObjectKey{Namespace: c.Stack.Namespace, Name: name}, stack); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("spec.prerequisites: %w", err)
	}
	return stack, nil
}

// rerun requests a new run of a Stack. Several dependants with the same request cause
// one run.
func (c *Checker) rerun(ctx context.Context, stack *v1.Stack, request string) error {
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
	return c.Client.Patch(ctx, stack, client.RawPatch(types.MergePatchType, patch))
}
