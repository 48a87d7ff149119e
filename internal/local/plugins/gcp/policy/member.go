package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
)

// Target describes the objects whose policies a type of resource changes.
type Target struct {
	// Input is the name of the input for the object: bucket, cryptoKeyId, project or serviceAccountId.
	Input string
	// Rule is the rule of that input.
	Rule rules.Rule
	// Shown converts the object's name in the program to the name in the state and in the ID. Nil means that they are
	// the same.
	Shown func(object string) string
	// Policy returns the policy of an object.
	Policy func(ctx context.Context, object string) (Policy, error)
}

// shown returns the object's name in the state and in the ID.
func (of Target) shown(object string) string {
	if of.Shown == nil {
		return object
	}
	return of.Shown(object)
}

// objectArgs are the inputs for the object of a resource. A resource uses one of them.
type objectArgs struct {
	Bucket           string `json:"bucket,omitempty"`
	CryptoKeyID      string `json:"cryptoKeyId,omitempty"`
	Project          string `json:"project,omitempty"`
	ServiceAccountID string `json:"serviceAccountId,omitempty"`
}

// memberArgs are the inputs of all IAMMember resources.
type memberArgs struct {
	objectArgs
	Condition *condition `json:"condition,omitempty"`
	Member    string     `json:"member"`
	Role      string     `json:"role"`
}

// object returns the field for the object of a target.
func (a *objectArgs) object(of Target) *string {
	switch of.Input {
	case "bucket":
		return &a.Bucket
	case "cryptoKeyId":
		return &a.CryptoKeyID
	case "project":
		return &a.Project
	default:
		return &a.ServiceAccountID
	}
}

type memberState struct {
	memberArgs
	Etag string `json:"etag"`
}

type memberRequest = frame.Request[memberArgs, memberState]

// Member returns an IAMMember resource, which adds one member to one role of an object's policy. args and state are
// values of the SDK's types, for example projects.IAMMemberArgs{} and projects.IAMMember{}.
func Member(args, state any, of Target) frame.Resource {
	return frame.Resource{
		Args:  args,
		State: state,
		Rules: rules.ByPath{
			of.Input: of.Rule,
			"role":   {Replace: true},
			"member": {Replace: true, Same: sameMember, Check: checkMember},
		}.With("", conditionRules()),
		Identity: []string{of.Input, "role", "member", "condition"},
		Operations: frame.Handle(frame.CRUD[memberArgs, memberState]{
			Create: of.createMember,
			Read:   of.readMember,
			Delete: of.deleteMember,
		}),
	}
}

// checkMember returns why a member is invalid, or "". The API creates deleted members itself.
func checkMember(member string) string {
	switch kind, _, ok := strings.Cut(member, ":"); {
	case kind == "deleted":
		return fmt.Sprintf("must not be a deleted principal, as %q is", member)
	case !ok && kind != "allUsers" && kind != "allAuthenticatedUsers":
		return fmt.Sprintf("must be TYPE:NAME, such as user:a@example.com, not %q", member)
	}
	return ""
}

// normalMember returns a member as policies contain it: with its name in lower case, except for principals, whose names
// are case-sensitive.
func normalMember(member string) string {
	kind, name, ok := strings.Cut(member, ":")
	if !ok || kind == "principal" || kind == "principalSet" || kind == "principalHierarchy" {
		return member
	}
	return kind + ":" + strings.ToLower(name)
}

// sameMember reports whether two members are equal apart from the case of their names.
func sameMember(a, b string) bool { return normalMember(a) == normalMember(b) }

// hasMember reports whether a binding contains a member. It ignores case, because policies keep the spelling of old
// members.
func hasMember(b *iam.Binding, member string) bool {
	return slices.ContainsFunc(b.Members, func(m string) bool { return strings.EqualFold(m, member) })
}

// memberResult returns the ID and the state of a resource. member is the member as the policy contains it.
func (of Target) memberResult(args memberArgs, member, etag string) (string, memberState) {
	object := args.object(of)
	*object = of.shown(*object)
	args.Member = member
	return resourceID([]string{*object, args.Role, normalMember(member)}, args.Condition), memberState{args, etag}
}

func (of Target) createMember(ctx context.Context, r memberRequest) (string, memberState, error) {
	p, err := of.Policy(ctx, *r.Args.object(of))
	if err != nil {
		return "", memberState{}, err
	}
	member := normalMember(r.Args.Member)
	etag, err := p.addMember(ctx, r.Args.Role, member, r.Args.Condition.expr())
	if err != nil {
		return "", memberState{}, err
	}
	id, state := of.memberResult(r.Args, member, etag)
	return id, state, nil
}

// readMember looks for the member in the policy. An import ID contains only the title of the condition, so an import
// takes the rest of the condition from the policy.
func (of Target) readMember(ctx context.Context, r memberRequest) (string, memberState, error) {
	args, title := r.Args, ""
	if r.Importing {
		parts, t, err := parseImportID(r.ID, 3)
		if err != nil {
			return "", memberState{}, err
		}
		*args.object(of), args.Role, args.Member, title = parts[0], parts[1], parts[2], t
	}
	p, err := of.Policy(ctx, *args.object(of))
	if err != nil {
		return "", memberState{}, err
	}
	if r.Importing {
		if args.Condition, err = p.conditionTitled(ctx, args.Role, args.Member, title); err != nil {
			return "", memberState{}, err
		}
	}
	member, etag, err := p.findMember(ctx, args.Role, args.Member, args.Condition.expr())
	if err != nil {
		return "", memberState{}, err
	}
	id, state := of.memberResult(args, member, etag)
	return id, state, nil
}

func (of Target) deleteMember(ctx context.Context, r memberRequest) error {
	args := r.State.memberArgs
	p, err := of.Policy(ctx, *args.object(of))
	if err != nil {
		return err
	}
	return p.removeMember(ctx, args.Role, args.Member, args.Condition.expr())
}
