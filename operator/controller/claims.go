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

// claims ensures that no two Stacks of a namespace hold the same Pulumi stack. If two
// did, the deletion of one would destroy the resources of the other.
type claims struct {
	mu sync.Mutex
	of map[string]*claimed
}

// claimed holds the claims of one namespace. The lock is held from the check of the
// other Stacks until the claim is in the status. Other namespaces do not wait for this
// lock.
type claimed struct {
	sync.Mutex

	// users counts the goroutines that hold the lock or wait for it. The mutex of [claims]
	// guards it.
	users int

	// fresh maps names of Stacks to claims of this process that the cache may not show
	// yet.
	fresh map[string]v1.ProjectInfo
}

// lock locks the claims of a namespace until the caller calls unlock.
func (c *claims) lock(namespace string) (locked *claimed, unlock func()) {
	c.mu.Lock()
	if c.of == nil {
		c.of = map[string]*claimed{}
	}
	locked = c.of[namespace]
	if locked == nil {
		locked = &claimed{fresh: map[string]v1.ProjectInfo{}}
		c.of[namespace] = locked
	}
	locked.users++
	c.mu.Unlock()
	locked.Lock()
	return locked, func() {
		locked.Unlock()
		c.mu.Lock()
		defer c.mu.Unlock()
		if locked.users--; locked.users == 0 && len(locked.fresh) == 0 {
			delete(c.of, namespace)
		}
	}
}

// claim records in the status that the Stack holds info, and writes the status by save.
// claim returns an error if another Stack holds the same Pulumi stack.
func (s *session) claim(ctx context.Context, info *v1.ProjectInfo, save func() error) error {
	if held := s.stack.Status.ProjectInfo; held != nil && held.Stack != "" {
		s.stack.Status.ProjectInfo = info
		return save()
	}
	claimed, unlock := s.claims.lock(s.stack.Namespace)
	defer unlock()
	if err := s.free(ctx, claimed, info); err != nil {
		return err
	}
	s.stack.Status.ProjectInfo = info
	if err := save(); err != nil {
		return err
	}
	claimed.fresh[s.stack.Name] = *info
	return nil
}

// free returns an error if another Stack holds info.
func (s *session) free(ctx context.Context, claimed *claimed, info *v1.ProjectInfo) error {
	other, err := s.holder(ctx, claimed, info, func(*v1.Stack) bool { return true })
	if err != nil || other == "" {
		return err
	}
	return invalid("Stack %s holds %s already: give spec.stack another name, or delete one of the two", other, describe(info))
}

// beginDestroy makes a destroy fail if another Stack holds the Pulumi stack.
func (s *session) beginDestroy(ctx context.Context, req *engine.Request) error {
	if s.stack.Status.ProjectInfo != nil {
		return nil
	}
	check := func(project string) error {
		info := place(project, *req)
		claimed, unlock := s.claims.lock(s.stack.Namespace)
		defer unlock()
		return s.free(ctx, claimed, &info)
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

// holder returns the name of another Stack that holds info and for which counts returns
// true, or an empty string.
func (s *session) holder(ctx context.Context, claimed *claimed, info *v1.ProjectInfo, counts func(*v1.Stack) bool) (string, error) {
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
		fresh, ok := claimed.fresh[key.Name]
		isFresh := ok && same(&fresh, info)
		if !isFresh && !same(held, info) {
			continue
		}
		// The cached claim may be outdated, so read the Stack. The dependency wakes a refused
		// Stack at the other's next change.
		s.depend(dependency{scope{stackResource, key.Namespace}, key.Name})
		other := &v1.Stack{}
		err := s.reader.Get(ctx, key, other)
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("look whether Stack %s holds %s: %w", key, describe(info), err)
		}
		switch holds := err == nil && same(other.Status.ProjectInfo, info); {
		case holds && counts(other):
			return key.Name, nil
		case !holds && isFresh:
			delete(claimed.fresh, key.Name)
		}
	}
	return "", nil
}

// same reports whether both are the same Pulumi stack.
func same(held, info *v1.ProjectInfo) bool {
	return held != nil && held.Name == info.Name && held.Stack == info.Stack && held.Backend == info.Backend
}

// shared returns the name of another Stack that holds the same Pulumi stack and is not
// being deleted. Such Stacks can exist from before the operator refused them.
func (s *session) shared(ctx context.Context) (string, error) {
	held := s.stack.Status.ProjectInfo
	if held.Stack == "" {
		return "", nil
	}
	claimed, unlock := s.claims.lock(s.stack.Namespace)
	defer unlock()
	return s.holder(ctx, claimed, held, func(other *v1.Stack) bool { return other.DeletionTimestamp.IsZero() })
}

// forget drops the claim of a deleted Stack.
func (c *claims) forget(stack types.NamespacedName) {
	claimed, unlock := c.lock(stack.Namespace)
	defer unlock()
	delete(claimed.fresh, stack.Name)
}
