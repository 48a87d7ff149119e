package policy

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"testing"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
)

// memoryPolicy is a policy in memory. Another writer adds a binding before each of the first writes, which then fail
// with a conflict.
type memoryPolicy struct {
	policy    iam.Policy
	conflicts int // the number of writes that are still to fail
}

func (m *memoryPolicy) client() Policy {
	return Policy{
		Get: func(context.Context) (*iam.Policy, error) { return Convert[*iam.Policy](&m.policy) },
		Set: func(_ context.Context, p *iam.Policy) (*iam.Policy, error) {
			if m.conflicts > 0 {
				m.conflicts--
				m.policy.Bindings = append(m.policy.Bindings, &iam.Binding{Role: "roles/" + strconv.Itoa(m.conflicts), Members: []string{"user:b@example.com"}})
				return nil, &googleapi.Error{Code: http.StatusConflict, Message: "concurrent policy changes"}
			}
			m.policy = *p
			return p, nil
		},
	}
}

func TestEditRetriesAfterAConflict(t *testing.T) {
	m := &memoryPolicy{conflicts: 3}
	if _, err := m.client().addMember(t.Context(), "roles/viewer", "user:a@example.com", nil); err != nil {
		t.Fatal(err)
	}
	if len(m.policy.Bindings) != 4 || m.policy.Version != Version {
		t.Errorf("policy is %+v, want the other writer's three bindings and one more", m.policy)
	}
}

func TestBindingsWithAndWithoutAConditionAreSeparate(t *testing.T) {
	m := &memoryPolicy{}
	p := m.client()
	cond := &condition{Title: "names", Expression: "true"}
	for _, c := range []*condition{nil, cond} {
		if _, err := p.addMember(t.Context(), "roles/viewer", "user:a@example.com", c.expr()); err != nil {
			t.Fatal(err)
		}
	}
	found, err := p.conditionTitled(t.Context(), "roles/viewer", "user:a@example.com", "names")
	if err != nil || *found != *cond {
		t.Errorf("conditionTitled returned %v, %v", found, err)
	}
	if err := p.removeMember(t.Context(), "roles/viewer", "user:a@example.com", nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.findMember(t.Context(), "roles/viewer", "user:a@example.com", nil); !errors.Is(err, frame.ErrNotFound) {
		t.Errorf("find the removed member: %v", err)
	}
	if _, _, err := p.findMember(t.Context(), "roles/viewer", "user:a@example.com", cond.expr()); err != nil {
		t.Errorf("find the member with a condition: %v", err)
	}
}

func TestParseImportID(t *testing.T) {
	parts, title, err := parseImportID("proj roles/viewer user:a@example.com only at night", 3)
	if err != nil || len(parts) != 3 || parts[2] != "user:a@example.com" || title != "only at night" {
		t.Errorf("parts %q, title %q, %v", parts, title, err)
	}
	if _, _, err := parseImportID("proj roles/viewer", 3); err == nil {
		t.Error("no error for an ID without a member")
	}
}
