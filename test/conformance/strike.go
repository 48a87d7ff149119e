package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/conformance/internal/observe"
)

// strikeTimeout limits the clean-up of one scene. It begins after the interruption of the suite, too.
const strikeTimeout = 5 * time.Minute

// strike deletes all objects of the scene, and the resources of its Stacks. If a Stack cannot be deleted, strike keeps the objects that
// its destroy needs, and returns an error that names the Stack.
func (s *scene) strike() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.ctx), strikeTimeout)
	defer cancel()
	s.ctx, s.err, s.failed = ctx, nil, ""
	var problems []error
	for _, repair := range s.repairs {
		problems = append(problems, repair())
	}
	names := slices.Compact(slices.Sorted(slices.Values(s.stacks)))
	for _, name := range names {
		problems = append(problems, s.release(name))
	}
	for _, name := range names {
		problems = append(problems, s.gone(name))
	}
	if err := inLine(problems...); err != nil {
		return fmt.Errorf("objects of the suite are left in namespace %s with the label %s=%s: %w", s.Namespace, Label, s.id, err)
	}
	for _, each := range []kind{programs, configMaps, secrets} {
		problems = append(problems, s.clear(each))
	}
	return inLine(problems...)
}

// release deletes a Stack such that its resources go too.
func (s *scene) release(name string) error {
	object, err := s.of(stacks).Get(s.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read Stack %s: %w", name, err)
	}
	// A Stack that has not run has no resources, and some operators cannot destroy it if its Program is missing.
	ran := observe.Stack(object).Status.LastUpdate != nil || observe.Stack(object).Status.CurrentUpdate != nil
	if err := s.patch(s.ctx, stacks, name, fmt.Sprintf(`{"spec":{"destroyOnFinalize":%t,"updateTemplate":{"spec":{"remove":true}}}}`, ran)); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err := s.of(stacks).Delete(s.ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete Stack %s: %w", name, err)
	}
	return nil
}

// clear deletes the scene's objects of a kind. Most of them are gone already.
func (s *scene) clear(of kind) error {
	list, err := s.of(of).List(s.ctx, metav1.ListOptions{LabelSelector: Label + "=" + s.id})
	if err != nil {
		return fmt.Errorf("list the kind %s: %w", of.kind, err)
	}
	var problems []error
	for _, object := range list.Items {
		if name := object.GetName(); name == s.name || strings.HasPrefix(name, s.name+"-") {
			if err := s.of(of).Delete(s.ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				problems = append(problems, fmt.Errorf("delete %s %s: %w", of.kind, name, err))
			}
		}
	}
	return errors.Join(problems...)
}

// recreate returns a repair that creates a deleted Stack again, so that its deletion destroys the resources that it has kept.
func (s *scene) recreate(name, spec string) func() error {
	return func() error {
		// A Stack that is being deleted cannot be kept.
		if _, err := s.await(name, "deleted", func(stack *v1.Stack) bool { return stack == nil || stack.DeletionTimestamp.IsZero() }); err != nil {
			return err
		}
		if err := s.putStack(s.ctx, name, spec); err != nil {
			return err
		}
		_, err := s.await(name, "Ready", observe.Ready)
		return err
	}
}
