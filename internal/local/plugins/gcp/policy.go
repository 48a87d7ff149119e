package gcp

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
)

// policyVersion is the version of policies with conditions.
const policyVersion = 3

// condition is the condition of a binding in Pulumi's form.
type condition struct {
	Description string `json:"description,omitempty"`
	Expression  string `json:"expression"`
	Title       string `json:"title"`
}

func (c *condition) expr() *iam.Expr {
	if c == nil {
		return nil
	}
	return &iam.Expr{Description: c.Description, Expression: c.Expression, Title: c.Title}
}

func conditionOf(e *iam.Expr) *condition {
	if e == nil {
		return nil
	}
	return &condition{Description: e.Description, Expression: e.Expression, Title: e.Title}
}

func sameCondition(a, b *iam.Expr) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Title == b.Title && a.Expression == b.Expression && a.Description == b.Description
}

// policyHolder gets and sets the IAM policy of an object.
type policyHolder struct {
	get func(context.Context) (*iam.Policy, error)
	set func(context.Context, *iam.Policy) (*iam.Policy, error)
}

// edit reads the policy, changes it and writes it back. It starts again if somebody else wrote the policy meanwhile.
// It writes nothing if change returns false. It returns the new etag.
func (h policyHolder) edit(ctx context.Context, change func(*iam.Policy) bool) (string, error) {
	for attempt := 0; ; attempt++ {
		policy, err := h.get(ctx)
		if err != nil {
			return "", explained(err)
		}
		if !change(policy) {
			return policy.Etag, nil
		}
		policy.Version = policyVersion
		written, err := h.set(ctx, policy)
		if err == nil {
			return written.Etag, nil
		}
		if status := statusOf(err); status != http.StatusConflict && status != http.StatusPreconditionFailed || attempt == conflictRetries {
			return "", explained(err)
		}
		// The random pause separates writers that conflicted.
		pause := time.NewTimer(time.Duration(rand.Int64N(int64(min(attempt+1, 20)))*10+1) * time.Millisecond)
		select {
		case <-ctx.Done():
			pause.Stop()
			return "", ctx.Err()
		case <-pause.C:
		}
	}
}

// binding returns the index of the binding of a role under a condition, or -1.
func binding(p *iam.Policy, role string, cond *iam.Expr) int {
	return slices.IndexFunc(p.Bindings, func(b *iam.Binding) bool {
		return b.Role == role && sameCondition(b.Condition, cond)
	})
}

func (h policyHolder) addMember(ctx context.Context, role, member string, cond *iam.Expr) (string, error) {
	return h.edit(ctx, func(p *iam.Policy) bool {
		i := binding(p, role, cond)
		if i < 0 {
			p.Bindings = append(p.Bindings, &iam.Binding{Role: role, Members: []string{member}, Condition: cond})
			return true
		}
		if hasMember(p.Bindings[i], member) {
			return false
		}
		p.Bindings[i].Members = append(p.Bindings[i].Members, member)
		return true
	})
}

func (h policyHolder) removeMember(ctx context.Context, role, member string, cond *iam.Expr) error {
	_, err := h.edit(ctx, func(p *iam.Policy) bool {
		i := binding(p, role, cond)
		if i < 0 || !hasMember(p.Bindings[i], member) {
			return false
		}
		p.Bindings[i].Members = slices.DeleteFunc(p.Bindings[i].Members, func(m string) bool { return strings.EqualFold(m, member) })
		if len(p.Bindings[i].Members) == 0 {
			p.Bindings = slices.Delete(p.Bindings, i, i+1)
		}
		return true
	})
	return err
}

// findMember returns the policy's spelling of a member with the role, and the policy's etag. It returns
// frame.ErrNotFound if the member lacks the role.
func (h policyHolder) findMember(ctx context.Context, role, member string, cond *iam.Expr) (written, etag string, err error) {
	p, err := h.get(ctx)
	if err != nil {
		return "", "", explained(err)
	}
	if i := binding(p, role, cond); i >= 0 {
		for _, m := range p.Bindings[i].Members {
			if strings.EqualFold(m, member) {
				return m, p.Etag, nil
			}
		}
	}
	return "", "", frame.ErrNotFound
}

// titled returns the condition with a title in a binding of role to member, for imports. An empty title stands for the
// binding without a condition.
func (h policyHolder) titled(ctx context.Context, role, member, title string) (*condition, error) {
	if title == "" {
		return nil, nil
	}
	p, err := h.get(ctx)
	if err != nil {
		return nil, explained(err)
	}
	var found []*iam.Expr
	for _, b := range p.Bindings {
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
		return nil, fmt.Errorf("condition title %q is that of %d bindings of %s: give them titles of their own", title, len(found), role)
	}
}

// memberID returns the official provider's ID of a member or binding.
func memberID(parts []string, cond *condition) string {
	if cond != nil {
		parts = append(parts, cond.Title, cond.Description, cond.Expression)
	}
	return strings.Join(parts, "/")
}

// importID splits the official provider's import ID: words separated by spaces. The last, optional word is the title
// of a condition.
func importID(id string, words int) (parts []string, title string, err error) {
	fields := strings.Fields(id)
	if len(fields) < words {
		return nil, "", fmt.Errorf(
			"import ID %q must be %d words separated by spaces (object, role and, for a member, the member), then a condition's title if there is one",
			id, words)
	}
	return fields[:words], strings.Join(fields[words:], " "), nil
}
