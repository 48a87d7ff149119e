package policy

import (
	"context"
	"slices"

	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	"github.com/strata-platform/strata/internal/local/plugins/gcp/core"
)

// bindingArgs are the inputs of all IAMBinding resources.
type bindingArgs struct {
	objectArgs
	Condition *condition `json:"condition,omitempty"`
	Members   []string   `json:"members"`
	Role      string     `json:"role"`
}

type bindingState struct {
	bindingArgs
	Etag string `json:"etag"`
}

type bindingRequest = frame.Request[bindingArgs, bindingState]

// Binding returns an IAMBinding resource, which sets all members of one role of a policy, and so removes the role from
// other members. args and state are values of the SDK's types, for example serviceaccount.IAMBindingArgs{} and
// serviceaccount.IAMBinding{}.
func Binding(args, state any, of Target) frame.Resource {
	return frame.Resource{
		Args:  args,
		State: state,
		Rules: rules.ByPath{
			"members": {Required: true, Set: true, Same: sameMember, Check: checkMember},
			"role":    {Replace: true},
			of.Input:  of.Rule,
		}.With("", conditionRules()),
		Identity: []string{of.Input, "role", "condition"},
		Operations: frame.Handle(frame.CRUD[bindingArgs, bindingState]{
			Create: of.setBinding,
			Read:   of.readBinding,
			Update: func(ctx context.Context, r bindingRequest) (bindingState, error) {
				_, state, err := of.setBinding(ctx, r)
				return state, err
			},
			Delete: func(ctx context.Context, r bindingRequest) error {
				r.Args = r.State.bindingArgs
				r.Args.Members = nil
				_, _, err := of.setBinding(ctx, r)
				return err
			},
		}),
	}
}

// bindingResult returns the ID and the state of a resource.
func (of Target) bindingResult(args bindingArgs, etag string) (string, bindingState) {
	object := args.object(of)
	*object = of.shown(*object)
	return resourceID([]string{*object, args.Role}, args.Condition), bindingState{args, etag}
}

// setBinding replaces the binding of the role. Without members, it removes the binding.
func (of Target) setBinding(ctx context.Context, r bindingRequest) (string, bindingState, error) {
	p, err := of.Policy(ctx, *r.Args.object(of))
	if err != nil {
		return "", bindingState{}, err
	}
	cond := r.Args.Condition.expr()
	var members []string
	for _, m := range r.Args.Members {
		members = append(members, normalMember(m))
	}
	etag, err := p.edit(ctx, func(p *iam.Policy) bool {
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
	id, state := of.bindingResult(r.Args, etag)
	return id, state, nil
}

// readBinding reads the members of a role. An import ID names a condition by its title only, so an import looks for the condition in
// the policy.
func (of Target) readBinding(ctx context.Context, r bindingRequest) (string, bindingState, error) {
	args, title := r.Args, ""
	if r.Importing {
		parts, t, err := parseImportID(r.ID, 2)
		if err != nil {
			return "", bindingState{}, err
		}
		*args.object(of), args.Role, title = parts[0], parts[1], t
	}
	p, err := of.Policy(ctx, *args.object(of))
	if err != nil {
		return "", bindingState{}, err
	}
	if r.Importing {
		if args.Condition, err = p.conditionTitled(ctx, args.Role, "", title); err != nil {
			return "", bindingState{}, err
		}
	}
	policy, err := p.Get(ctx)
	if err != nil {
		return "", bindingState{}, core.Explain(err)
	}
	i := bindingIndex(policy, args.Role, args.Condition.expr())
	switch {
	case i >= 0:
		args.Members = policy.Bindings[i].Members
	case r.Importing:
		return "", bindingState{}, frame.ErrNotFound
	default:
		// A policy contains no binding without members, so a missing binding is one whose members somebody removed.
		args.Members = []string{}
	}
	id, state := of.bindingResult(args, policy.Etag)
	return id, state, nil
}
