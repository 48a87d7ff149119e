package controller

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/engine"
)

// claims sees to it that no two Stacks of a namespace hold the same stack of
// Pulumi: with one of them the resources of the other would go. It is locked from
// the look at the others until the claim is in the status.
type claims struct {
	sync.Mutex

	// fresh are the claims of this process that the cache may not show yet.
	fresh map[types.NamespacedName]v1.ProjectInfo
}

// claim notes in the status that the Stack holds info, and has save write it.
func (s *session) claim(ctx context.Context, info *v1.ProjectInfo, save func() error) error {
	if held := s.stack.Status.ProjectInfo; held != nil && held.Stack != "" {
		s.stack.Status.ProjectInfo = info
		return save()
	}
	s.claims.Lock()
	defer s.claims.Unlock()
	if err := s.free(ctx, info); err != nil {
		return err
	}
	s.stack.Status.ProjectInfo = info
	if err := save(); err != nil {
		return err
	}
	s.claims.fresh[s.key()] = *info
	return nil
}

// free refuses what another Stack holds. The claims are locked.
func (s *session) free(ctx context.Context, info *v1.ProjectInfo) error {
	other, err := s.holder(ctx, info, func(*v1.Stack) bool { return true })
	if err != nil || other == "" {
		return err
	}
	return invalid("Stack %s holds %s already: give spec.stack another name, or delete one of the two", other, describe(info))
}

// beginDestroy refuses to destroy what another Stack holds.
func (s *session) beginDestroy(ctx context.Context, req *engine.Request) error {
	if s.stack.Status.ProjectInfo != nil {
		return nil
	}
	check := func(project string) error {
		info := place(project, *req)
		s.claims.Lock()
		defer s.claims.Unlock()
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
// there is none. The claims are locked.
func (s *session) holder(ctx context.Context, info *v1.ProjectInfo, counts func(*v1.Stack) bool) (string, error) {
	var cached v1.StackList
	if err := s.client.List(ctx, &cached, client.InNamespace(s.stack.Namespace)); err != nil {
		return "", fmt.Errorf("look which Stack holds %s: %w", describe(info), err)
	}
	for i := range cached.Items {
		key := client.ObjectKeyFromObject(&cached.Items[i])
		if key == s.key() {
			continue
		}
		held := cached.Items[i].Status.ProjectInfo
		fresh, ok := s.claims.fresh[key]
		claimed := ok && same(&fresh, info)
		if !claimed && !same(held, info) {
			continue
		}
		// It may have let go of it. Whoever is refused is woken by the next change.
		s.depend(dependency{scope{stackResource, key.Namespace}, key.Name})
		other := &v1.Stack{}
		err := s.reader.Get(ctx, key, other)
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("look whether Stack %s holds %s: %w", key, describe(info), err)
		}
		switch holds := err == nil && same(other.Status.ProjectInfo, info); {
		case holds && counts(other):
			return key.Name, nil
		case !holds && claimed:
			delete(s.claims.fresh, key)
		}
	}
	return "", nil
}

// same tells whether both are the same stack of Pulumi.
func same(held, info *v1.ProjectInfo) bool {
	return held != nil && held.Name == info.Name && held.Stack == info.Stack && held.Backend == info.Backend
}

// shared returns the name of another Stack that goes on holding what this one
// holds, as Stacks from before this was refused may.
func (s *session) shared(ctx context.Context) (string, error) {
	held := s.stack.Status.ProjectInfo
	if held.Stack == "" {
		return "", nil
	}
	s.claims.Lock()
	defer s.claims.Unlock()
	return s.holder(ctx, held, func(other *v1.Stack) bool { return other.DeletionTimestamp.IsZero() })
}

// forget drops the claim of a Stack that is gone.
func (c *claims) forget(stack types.NamespacedName) {
	c.Lock()
	defer c.Unlock()
	delete(c.fresh, stack)
}
