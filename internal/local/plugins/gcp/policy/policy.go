// Package policy contains the resources that set members and bindings of IAM policies. The objects with these policies belong to
// several APIs.
package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// Version is the version of policies that may contain conditions.
const Version = 3

// conflictRetries limits how often edit retries after a conflict with another writer.
const conflictRetries = 100

// Policy gets and sets the IAM policy of one object. The APIs have policies of the same JSON form but of their own Go
// types: see Convert.
type Policy struct {
	// Get returns the policy.
	Get func(context.Context) (*iam.Policy, error)
	// Set replaces the policy and returns the new one. Its error has the HTTP status 409 or 412 if the policy has
	// changed since Get.
	Set func(context.Context, *iam.Policy) (*iam.Policy, error)
}

// Convert converts a policy to another API's type with the same JSON form.
func Convert[T any](policy any) (T, error) {
	var t T
	raw, err := json.Marshal(policy)
	if err != nil {
		return t, fmt.Errorf("convert %T: %w", policy, err)
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return t, fmt.Errorf("convert %T: %w", policy, err)
	}
	return t, nil
}

// edit reads the policy, changes it and writes it back. It starts again after a conflict with another writer. If change
// returns false, edit writes nothing. edit returns the etag of the resulting policy.
func (p Policy) edit(ctx context.Context, change func(*iam.Policy) bool) (etag string, err error) {
	for attempt := 0; ; attempt++ {
		policy, err := p.Get(ctx)
		if err != nil {
			return "", core.Explain(err)
		}
		if !change(policy) {
			return policy.Etag, nil
		}
		policy.Version = Version
		written, err := p.Set(ctx, policy)
		if err == nil {
			return written.Etag, nil
		}
		if status := core.Status(err); status != http.StatusConflict && status != http.StatusPreconditionFailed || attempt == conflictRetries {
			return "", core.Explain(err)
		}
		// The random pause keeps the writers from colliding again.
		pause := time.NewTimer(time.Duration(rand.Int64N(int64(min(attempt+1, 20)))*10+1) * time.Millisecond)
		select {
		case <-ctx.Done():
			pause.Stop()
			return "", ctx.Err()
		case <-pause.C:
		}
	}
}

// bindingIndex returns the index of the binding of a role under a condition, or -1.
func bindingIndex(policy *iam.Policy, role string, cond *iam.Expr) int {
	return slices.IndexFunc(policy.Bindings, func(b *iam.Binding) bool {
		return b.Role == role && sameCondition(b.Condition, cond)
	})
}

// addMember adds a member to the binding of a role under a condition. It keeps all other bindings and members.
func (p Policy) addMember(ctx context.Context, role, member string, cond *iam.Expr) (etag string, err error) {
	return p.edit(ctx, func(policy *iam.Policy) bool {
		i := bindingIndex(policy, role, cond)
		if i < 0 {
			policy.Bindings = append(policy.Bindings, &iam.Binding{Role: role, Members: []string{member}, Condition: cond})
			return true
		}
		b := policy.Bindings[i]
		if hasMember(b, member) {
			return false
		}
		b.Members = append(b.Members, member)
		return true
	})
}

// removeMember removes a member from a binding. It removes the binding with its last member, because policies contain
// no empty bindings.
func (p Policy) removeMember(ctx context.Context, role, member string, cond *iam.Expr) error {
	_, err := p.edit(ctx, func(policy *iam.Policy) bool {
		i := bindingIndex(policy, role, cond)
		if i < 0 || !hasMember(policy.Bindings[i], member) {
			return false
		}
		b := policy.Bindings[i]
		b.Members = slices.DeleteFunc(b.Members, func(m string) bool { return strings.EqualFold(m, member) })
		if len(b.Members) == 0 {
			policy.Bindings = slices.Delete(policy.Bindings, i, i+1)
		}
		return true
	})
	return err
}

// findMember returns a member of the role as the policy spells it, and the policy's etag. It returns frame.ErrNotFound
// if the member does not have the role.
func (p Policy) findMember(ctx context.Context, role, member string, cond *iam.Expr) (spelled, etag string, err error) {
	policy, err := p.Get(ctx)
	if err != nil {
		return "", "", core.Explain(err)
	}
	if i := bindingIndex(policy, role, cond); i >= 0 {
		for _, m := range policy.Bindings[i].Members {
			if strings.EqualFold(m, member) {
				return m, policy.Etag, nil
			}
		}
	}
	return "", "", frame.ErrNotFound
}

// conditionTitled returns the condition with a title in the bindings of a role to a member, for imports. An empty
// member stands for any member, and an empty title for the binding without a condition. Its error is frame.ErrNotFound
// if there is no such binding.
func (p Policy) conditionTitled(ctx context.Context, role, member, title string) (*condition, error) {
	if title == "" {
		return nil, nil
	}
	policy, err := p.Get(ctx)
	if err != nil {
		return nil, core.Explain(err)
	}
	var found []*iam.Expr
	for _, b := range policy.Bindings {
		if b.Role == role && b.Condition != nil && b.Condition.Title == title && (member == "" || hasMember(b, member)) {
			found = append(found, b.Condition)
		}
	}
	switch len(found) {
	case 0:
		return nil, frame.ErrNotFound
	case 1:
		return conditionOf(found[0]), nil
	default:
		return nil, fmt.Errorf("%d bindings of %s have conditions with the title %q: give the conditions different titles", len(found), role, title)
	}
}
