package controller

import (
	"context"
	"fmt"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/engine"
)

// claims sees to it that no two Stacks of a namespace hold the same stack of
// Pulumi: with one of them the resources of the other would go. It is locked from
// the look at the others until the claim is in the status.
type claims struct{ sync.Mutex }

// claim notes in the status that the Stack holds info, and has save write it.
func (s *session) claim(ctx context.Context, info *v1.ProjectInfo, save func() error) error {
	if held := s.stack.Status.ProjectInfo; held == nil || held.Stack == "" {
		s.claims.Lock()
		defer s.claims.Unlock()
		if err := s.free(ctx, info); err != nil {
			return err
		}
	}
	s.stack.Status.ProjectInfo = info
	return save()
}

// free refuses what another Stack holds.
func (s *session) free(ctx context.Context, info *v1.ProjectInfo) error {
	other, err := s.holder(ctx, info, func(*v1.Stack) bool { return true })
	if err != nil || other == "" {
		return err
	}
	s.depend(dependency{scope{stackResource, s.stack.Namespace}, other})
	return invalid("Stack %s holds %s already: give spec.stack another name, or delete one of the two", other, describe(info))
}

// beginDestroy refuses to destroy what another Stack holds.
func (s *session) beginDestroy(ctx context.Context, req *engine.Request) error {
	if s.stack.Status.ProjectInfo != nil {
		return nil
	}
	check := func(project string) error {
		info := place(project, *req)
		return s.free(ctx, &info)
	}
	if req.Source == nil {
		return check(req.Project)
	}
	req.Begin = func(project string) error {
		if err := check(project); err != nil {
			return &refusal{err}
		}
		return nil
	}
	return nil
}

// holder returns the name of another Stack that holds the same and counts, empty if
// there is none.
func (s *session) holder(ctx context.Context, info *v1.ProjectInfo, counts func(*v1.Stack) bool) (string, error) {
	var stacks v1.StackList
	if err := s.reader.List(ctx, &stacks, client.InNamespace(s.stack.Namespace)); err != nil {
		return "", fmt.Errorf("look which Stack holds %s: %w", describe(info), err)
	}
	for i := range stacks.Items {
		other := &stacks.Items[i]
		held := other.Status.ProjectInfo
		if other.UID != s.stack.UID && held != nil && counts(other) &&
			held.Name == info.Name && held.Stack == info.Stack && held.Backend == info.Backend {
			return other.Name, nil
		}
	}
	return "", nil
}

// shared returns the name of another Stack that goes on holding what this one
// holds, as Stacks from before this was refused may.
func (s *session) shared(ctx context.Context) (string, error) {
	held := s.stack.Status.ProjectInfo
	if held.Stack == "" {
		return "", nil
	}
	return s.holder(ctx, held, func(other *v1.Stack) bool { return other.DeletionTimestamp.IsZero() })
}
