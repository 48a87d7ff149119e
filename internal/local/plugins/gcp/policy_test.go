package gcp

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

// memoryPolicy is a policy whose first writes conflict with another writer's.
type memoryPolicy struct {
	policy    iam.Policy
	conflicts int
}

func (m *memoryPolicy) holder() policyHolder {
	return policyHolder{
		get: func(context.Context) (*iam.Policy, error) { return converted[*iam.Policy](&m.policy) },
		set: func(_ context.Context, p *iam.Policy) (*iam.Policy, error) {
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

func TestEditTriesAgainAfterAConflict(t *testing.T) {
	m := &memoryPolicy{conflicts: 3}
	if _, err := m.holder().addMember(t.Context(), "roles/viewer", "user:a@example.com", nil); err != nil {
		t.Fatal(err)
	}
	if len(m.policy.Bindings) != 4 || m.policy.Version != policyVersion {
		t.Errorf("policy is %+v, want the other writer's three bindings and ours", m.policy)
	}
}

func TestMembersUnderConditionsAreApart(t *testing.T) {
	m := &memoryPolicy{}
	h := m.holder()
	cond := &condition{Title: "names", Expression: "true"}
	for _, c := range []*condition{nil, cond} {
		if _, err := h.addMember(t.Context(), "roles/viewer", "user:a@example.com", c.expr()); err != nil {
			t.Fatal(err)
		}
	}
	found, err := h.titled(t.Context(), "roles/viewer", "user:a@example.com", "names")
	if err != nil || *found != *cond {
		t.Errorf("the condition with that title is %v, %v", found, err)
	}
	if err := h.removeMember(t.Context(), "roles/viewer", "user:a@example.com", nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.findMember(t.Context(), "roles/viewer", "user:a@example.com", nil); !errors.Is(err, frame.ErrNotFound) {
		t.Errorf("the removed member: %v", err)
	}
	if _, _, err := h.findMember(t.Context(), "roles/viewer", "user:a@example.com", cond.expr()); err != nil {
		t.Errorf("the member under a condition: %v", err)
	}
}

func TestImportID(t *testing.T) {
	parts, title, err := importID("proj roles/viewer user:a@example.com only at night", 3)
	if err != nil || len(parts) != 3 || parts[2] != "user:a@example.com" || title != "only at night" {
		t.Errorf("parts %q, title %q, %v", parts, title, err)
	}
	if _, _, err := importID("proj roles/viewer", 3); err == nil {
		t.Error("no error for an ID that lacks the member")
	}
}

func TestRootCutsTheVersion(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://127.0.0.1:1/iam/v1/":              "http://127.0.0.1:1/iam/",
		"http://127.0.0.1:1/sqladmin/sql/v1beta4": "http://127.0.0.1:1/sqladmin/",
		"http://127.0.0.1:1/storage/storage/v1/":  "http://127.0.0.1:1/storage/",
		"http://127.0.0.1:1":                      "http://127.0.0.1:1/",
	} {
		if got := root(endpoint); got != want {
			t.Errorf("root(%q) is %q, want %q", endpoint, got, want)
		}
	}
}
