package gcp

import (
	"context"
	"slices"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/serviceaccount"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
)

type bindingArgs struct {
	Condition        *condition `json:"condition,omitempty"`
	Members          []string   `json:"members"`
	Role             string     `json:"role"`
	ServiceAccountID string     `json:"serviceAccountId"`
}

type bindingState struct {
	bindingArgs
	Etag string `json:"etag"`
}

type bindingRequest = frame.Request[bindingArgs, bindingState]

// accountBinding returns the resource that sets all members of one role on a service account. It removes the role from
// everybody else.
func (g *plugin) accountBinding() frame.Resource {
	return frame.Resource{
		Args:  serviceaccount.IAMBindingArgs{},
		State: serviceaccount.IAMBinding{},
		Rules: frame.Rules{
			"members":          {Required: true, Set: true, Same: sameMember, Check: checkMember},
			"role":             {Replace: true},
			"serviceAccountId": {Replace: true, Check: checkAccountLink},
		}.With("", conditionRules()),
		Identity: []string{"serviceAccountId", "role", "condition"},
		Operations: frame.Handle(frame.CRUD[bindingArgs, bindingState]{
			Create: g.setBinding,
			Read:   g.readBinding,
			Update: func(ctx context.Context, r bindingRequest) (bindingState, error) {
				_, state, err := g.setBinding(ctx, r)
				return state, err
			},
			Delete: func(ctx context.Context, r bindingRequest) error {
				r.Args = r.State.bindingArgs
				r.Args.Members = nil
				_, _, err := g.setBinding(ctx, r)
				return err
			},
		}),
	}
}

func (g *plugin) setBinding(ctx context.Context, r bindingRequest) (string, bindingState, error) {
	h, err := g.accountPolicy(ctx, r.Args.ServiceAccountID)
	if err != nil {
		return "", bindingState{}, err
	}
	cond := r.Args.Condition.expr()
	var members []string
	for _, m := range r.Args.Members {
		members = append(members, normalMember(m))
	}
	etag, err := h.edit(ctx, func(p *iam.Policy) bool {
		p.Bindings = slices.DeleteFunc(p.Bindings, func(b *iam.Binding) bool {
			return b.Role == r.Args.Role && sameCondition(b.Condition, cond)
		})
		if len(members) > 0 {
			p.Bindings = append(p.Bindings, &iam.Binding{Role: r.Args.Role, Members: members, Condition: cond})
		}
		return true
	})
	if err != nil {
		return "", bindingState{}, err
	}
	return memberID([]string{r.Args.ServiceAccountID, r.Args.Role}, r.Args.Condition), bindingState{r.Args, etag}, nil
}

func (g *plugin) readBinding(ctx context.Context, r bindingRequest) (string, bindingState, error) {
	args, title := r.Args, ""
	if r.Importing {
		parts, t, err := importID(r.ID, 2)
		if err != nil {
			return "", bindingState{}, err
		}
		args.ServiceAccountID, args.Role, title = parts[0], parts[1], t
	}
	h, err := g.accountPolicy(ctx, args.ServiceAccountID)
	if err != nil {
		return "", bindingState{}, err
	}
	if r.Importing {
		if args.Condition, err = h.titled(ctx, args.Role, "", title); err != nil {
			return "", bindingState{}, err
		}
	}
	policy, err := h.get(ctx)
	if err != nil {
		return "", bindingState{}, explained(err)
	}
	i := binding(policy, args.Role, args.Condition.expr())
	switch {
	case i >= 0:
		args.Members = policy.Bindings[i].Members
	case r.Importing:
		return "", bindingState{}, frame.ErrNotFound
	default: // a policy contains no binding without members
		args.Members = []string{}
	}
	return memberID([]string{args.ServiceAccountID, args.Role}, args.Condition), bindingState{args, policy.Etag}, nil
}
