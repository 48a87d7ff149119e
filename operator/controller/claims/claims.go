// Package claims ensures that no two Stacks of a namespace hold the same Pulumi stack. If two
// did, the deletion of one would destroy the resources of the other.
package claims

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/stall"
)

// Claims holds the claims of Stacks on Pulumi stacks. A claim is status.projectInfo of its
// Stack.
type Claims struct {
	// cache lists the Stacks of a namespace, and may be outdated. reader reads one Stack from
	// the API server.
	cache, reader client.Reader

	mu         sync.Mutex
	namespaces map[string]*namespace
}

// New returns the claims of the Stacks that a cache lists. reader reads from the API server.
func New(cache, reader client.Reader) *Claims {
	return &Claims{cache: cache, reader: reader, namespaces: map[string]*namespace{}}
}

// namespace holds the claims of one namespace. The lock is held from the check of the
// other Stacks until the claim is in the status. Other namespaces do not wait for this
// lock.
type namespace struct {
	sync.Mutex

	// users counts the goroutines that hold the lock or wait for it. The mutex of [Claims]
	// guards it.
	users int

	// fresh maps names of Stacks to claims of this process that the cache may not show
	// yet.
	fresh map[string]v1.ProjectInfo
}

// lock locks the claims of a namespace until the caller calls unlock.
func (c *Claims) lock(name string) (locked *namespace, unlock func()) {
	c.mu.Lock()
	locked = c.namespaces[name]
	if locked == nil {
		locked = &namespace{fresh: map[string]v1.ProjectInfo{}}
		c.namespaces[name] = locked
	}
	locked.users++
	c.mu.Unlock()
	locked.Lock()
	return locked, func() {
		locked.Unlock()
		c.mu.Lock()
		defer c.mu.Unlock()
		if locked.users--; locked.users == 0 && len(locked.fresh) == 0 {
			delete(c.namespaces, name)
		}
	}
}

// Claimant is the Stack of one reconciliation.
type Claimant struct {
	*Claims

	// Stack is the Stack that claims a Pulumi stack.
	Stack *v1.Stack

	// Depend is called with each other Stack before the Claimant reads it. The next change of that Stack then wakes a Stack
	// whose claim was rejected.
	Depend func(dependents.Object)
}

// Claim records in the status that the Stack holds info, and writes the status by save.
// Claim returns a [*stall.Error] if another Stack holds the same Pulumi stack.
func (c *Claimant) Claim(ctx context.Context, info *v1.ProjectInfo, save func() error) error {
	if held := c.Stack.Status.ProjectInfo; held != nil && held.Stack != "" {
		c.Stack.Status.ProjectInfo = info
		return save()
	}
	claimed, unlock := c.lock(c.Stack.Namespace)
	defer unlock()
	if err := c.free(ctx, claimed, info); err != nil {
		return err
	}
	c.Stack.Status.ProjectInfo = info
	if err := save(); err != nil {
		return err
	}
	claimed.fresh[c.Stack.Name] = *info
	return nil
}

// Check returns a [*stall.Error] if another Stack holds info.
func (c *Claimant) Check(ctx context.Context, info *v1.ProjectInfo) error {
	claimed, unlock := c.lock(c.Stack.Namespace)
	defer unlock()
	return c.free(ctx, claimed, info)
}

// Shared returns the name of another Stack that holds the same Pulumi stack and is not
// being deleted, or an empty string. Such Stacks can exist from before the operator
// rejected them.
func (c *Claimant) Shared(ctx context.Context) (string, error) {
	held := c.Stack.Status.ProjectInfo
	if held.Stack == "" {
		return "", nil
	}
	claimed, unlock := c.lock(c.Stack.Namespace)
	defer unlock()
	return c.holder(ctx, claimed, held, func(other *v1.Stack) bool { return other.DeletionTimestamp.IsZero() })
}

// free returns an error if another Stack holds info.
func (c *Claimant) free(ctx context.Context, claimed *namespace, info *v1.ProjectInfo) error {
	other, err := c.holder(ctx, claimed, info, func(*v1.Stack) bool { return true })
	if err != nil || other == "" {
		return err
	}
	return stall.Invalid("Stack %s holds %s already: change spec.stack, or delete one of the two Stacks", other, Describe(info))
}

// holder returns the name of another Stack that holds info and for which counts returns
// true, or an empty string.
func (c *Claimant) holder(ctx context.Context, claimed *namespace, info *v1.ProjectInfo, counts func(*v1.Stack) bool) (string, error) {
	var cached v1.StackList
	if err := c.cache.List(ctx, &cached, client.InNamespace(c.Stack.Namespace)); err != nil {
		return "", fmt.Errorf("find the Stack that holds %s: %w", Describe(info), err)
	}
	for i := range cached.Items {
		key := client.ObjectKeyFromObject(&cached.Items[i])
		if key == client.ObjectKeyFromObject(c.Stack) {
			continue
		}
		held := cached.Items[i].Status.ProjectInfo
		fresh, ok := claimed.fresh[key.Name]
		isFresh := ok && same(&fresh, info)
		if !isFresh && !same(held, info) {
			continue
		}
		// The cached claim may be outdated, so read the Stack.
		c.Depend(dependents.On(dependents.Stacks, key.Namespace, key.Name))
		other := &v1.Stack{}
		err := c.reader.Get(ctx, key, other)
		if client.IgnoreNotFound(err) != nil {
			return "", fmt.Errorf("check whether Stack %s holds %s: %w", key, Describe(info), err)
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

// Forget drops the claim of a deleted Stack.
func (c *Claims) Forget(stack types.NamespacedName) {
	claimed, unlock := c.lock(stack.Namespace)
	defer unlock()
	delete(claimed.fresh, stack.Name)
}

// Owner returns how users know the Stack of a namespace that holds a Pulumi stack: "Stack NAME", or "" if there is none.
func (c *Claims) Owner(ctx context.Context, namespace, project, stack string) string {
	var cached v1.StackList
	if err := c.cache.List(ctx, &cached, client.InNamespace(namespace)); err != nil {
		return ""
	}
	for i := range cached.Items {
		held := cached.Items[i].Status.ProjectInfo
		if held != nil && held.Name == project && held.Stack[strings.LastIndexByte(held.Stack, '/')+1:] == stack {
			return "Stack " + cached.Items[i].Name
		}
	}
	return ""
}
