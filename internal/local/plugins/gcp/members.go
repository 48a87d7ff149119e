package gcp

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/serviceaccount"
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/storage"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
)

// memberArgs are the inputs of the three IAMMember resources. Each resource uses one of Bucket, Project and
// ServiceAccountID.
type memberArgs struct {
	Bucket           string     `json:"bucket,omitempty"`
	Project          string     `json:"project,omitempty"`
	ServiceAccountID string     `json:"serviceAccountId,omitempty"`
	Condition        *condition `json:"condition,omitempty"`
	Member           string     `json:"member"`
	Role             string     `json:"role"`
}

type memberState struct {
	memberArgs
	Etag string `json:"etag"`
}

// memberOf describes the differences between the IAMMember resources.
type memberOf struct {
	name   string // of the input for the object
	rule   frame.Rule
	object func(*memberArgs) *string
	// shown returns the object's name in the state and in the ID. If it is nil, they use the program's name.
	shown  func(string) string
	holder func(ctx context.Context, object string) (policyHolder, error)
}

func (g *plugin) projectMember() frame.Resource {
	return memberResource(projects.IAMMemberArgs{}, projects.IAMMember{}, memberOf{
		name:   "project",
		rule:   frame.Rule{Replace: true, Same: sameName},
		object: func(a *memberArgs) *string { return &a.Project },
		holder: g.projectPolicy,
	})
}

func (g *plugin) accountMember() frame.Resource {
	return memberResource(serviceaccount.IAMMemberArgs{}, serviceaccount.IAMMember{}, memberOf{
		name:   "serviceAccountId",
		rule:   frame.Rule{Replace: true, Check: checkAccountLink},
		object: func(a *memberArgs) *string { return &a.ServiceAccountID },
		holder: g.accountPolicy,
	})
}

func (g *plugin) bucketMember() frame.Resource {
	return memberResource(storage.BucketIAMMemberArgs{}, storage.BucketIAMMember{}, memberOf{
		name:   "bucket",
		rule:   frame.Rule{Replace: true, Same: sameName},
		object: func(a *memberArgs) *string { return &a.Bucket },
		shown:  func(bucket string) string { return "b/" + lastPart(bucket) },
		holder: g.bucketPolicy,
	})
}

func memberResource(args, state any, of memberOf) frame.Resource {
	return frame.Resource{
		Args:  args,
		State: state,
		Rules: frame.Rules{
			of.name:  of.rule,
			"role":   {Replace: true},
			"member": {Replace: true, Same: sameMember, Check: checkMember},
		}.With("", conditionRules()),
		Identity: []string{of.name, "role", "member", "condition"},
		Operations: frame.Handle(frame.CRUD[memberArgs, memberState]{
			Create: of.create,
			Read:   of.read,
			Delete: of.remove,
		}),
	}
}

func conditionRules() frame.Rules {
	return frame.Rules{}.Each(frame.Rule{Replace: true},
		"condition condition.description condition.expression condition.title")
}

// accountLink matches the service account of a member or binding, as the official provider accepts it.
var accountLink = regexp.MustCompile(`^projects/[^/]+/serviceAccounts/[^/@]+@[^/]+$`)

func checkAccountLink(account string) string {
	return matching(accountLink, "projects/PROJECT/serviceAccounts/EMAIL")(account)
}

// checkMember refuses invalid members of a policy.
func checkMember(member string) string {
	switch kind, _, ok := strings.Cut(member, ":"); {
	case kind == "deleted":
		return fmt.Sprintf("must not be a deleted principal, as %q is", member)
	case !ok && kind != "allUsers" && kind != "allAuthenticatedUsers":
		return fmt.Sprintf("must be TYPE:NAME, such as user:a@example.com, not %q", member)
	}
	return ""
}

// normalMember returns a member in the form of policies: its name is in lower case unless case matters.
func normalMember(member string) string {
	kind, name, ok := strings.Cut(member, ":")
	if !ok || kind == "principal" || kind == "principalSet" || kind == "principalHierarchy" {
		return member
	}
	return kind + ":" + strings.ToLower(name)
}

func sameMember(a, b string) bool { return normalMember(a) == normalMember(b) }

func hasMember(b *iam.Binding, member string) bool {
	return slices.ContainsFunc(b.Members, func(m string) bool { return strings.EqualFold(m, member) })
}

type memberRequest = frame.Request[memberArgs, memberState]

// known returns the resource's ID and the state with the object and the member in their normal forms.
func (of memberOf) known(args memberArgs, member, etag string) (string, memberState) {
	object := of.object(&args)
	if of.shown != nil {
		*object = of.shown(*object)
	}
	args.Member = member
	return memberID([]string{*object, args.Role, normalMember(member)}, args.Condition), memberState{args, etag}
}

func (of memberOf) create(ctx context.Context, r memberRequest) (string, memberState, error) {
	h, err := of.holder(ctx, *of.object(&r.Args))
	if err != nil {
		return "", memberState{}, err
	}
	member := normalMember(r.Args.Member)
	etag, err := h.addMember(ctx, r.Args.Role, member, r.Args.Condition.expr())
	if err != nil {
		return "", memberState{}, err
	}
	id, state := of.known(r.Args, member, etag)
	return id, state, nil
}

func (of memberOf) read(ctx context.Context, r memberRequest) (string, memberState, error) {
	args, title := r.Args, ""
	if r.Importing {
		parts, t, err := importID(r.ID, 3)
		if err != nil {
			return "", memberState{}, err
		}
		*of.object(&args), args.Role, args.Member, title = parts[0], parts[1], parts[2], t
	}
	h, err := of.holder(ctx, *of.object(&args))
	if err != nil {
		return "", memberState{}, err
	}
	if r.Importing {
		if args.Condition, err = h.titled(ctx, args.Role, args.Member, title); err != nil {
			return "", memberState{}, err
		}
	}
	member, etag, err := h.findMember(ctx, args.Role, args.Member, args.Condition.expr())
	if err != nil {
		return "", memberState{}, err
	}
	id, state := of.known(args, member, etag)
	return id, state, nil
}

func (of memberOf) remove(ctx context.Context, r memberRequest) error {
	args := r.State.memberArgs
	h, err := of.holder(ctx, *of.object(&args))
	if err != nil {
		return err
	}
	return h.removeMember(ctx, args.Role, args.Member, args.Condition.expr())
}
