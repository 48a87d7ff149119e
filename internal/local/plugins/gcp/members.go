package gcp

import (
	"context"

	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/projects"
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/serviceaccount"
	"github.com/pulumi/pulumi-gcp/sdk/v7/go/gcp/storage"

	"github.com/strata-platform/strata/internal/local/plugins/provider"
)

// memberArgs are the inputs of the three IAMMember resources. Each has one of the objects.
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

// memberOf describes what differs between the IAMMember resources.
type memberOf struct {
	object func(*memberArgs) *string
	holder func(ctx context.Context, object string) (policyHolder, error)
}

func (g *plugin) projectMember() provider.Resource {
	return memberResource("project", projects.IAMMemberArgs{}, projects.IAMMember{}, memberOf{
		object: func(a *memberArgs) *string { return &a.Project },
		holder: g.projectPolicy,
	})
}

func (g *plugin) accountMember() provider.Resource {
	return memberResource("serviceAccountId", serviceaccount.IAMMemberArgs{}, serviceaccount.IAMMember{}, memberOf{
		object: func(a *memberArgs) *string { return &a.ServiceAccountID },
		holder: g.accountPolicy,
	})
}

func (g *plugin) bucketMember() provider.Resource {
	return memberResource("bucket", storage.BucketIAMMemberArgs{}, storage.BucketIAMMember{}, memberOf{
		object: func(a *memberArgs) *string { return &a.Bucket },
		holder: g.bucketPolicy,
	})
}

func memberResource(object string, args, state any, of memberOf) provider.Resource {
	return provider.Resource{
		Args:     args,
		State:    state,
		Replace:  []string{object, "role", "member", "condition"},
		Identity: []string{object, "role", "member", "condition"},
		Operations: provider.Handle(provider.CRUD[memberArgs, memberState]{
			Create: of.create,
			Read:   of.read,
			Delete: of.remove,
		}),
	}
}

type memberRequest = provider.Request[memberArgs, memberState]

func (of memberOf) create(ctx context.Context, r memberRequest) (string, memberState, error) {
	object := *of.object(&r.Args)
	h, err := of.holder(ctx, object)
	if err != nil {
		return "", memberState{}, err
	}
	etag, err := h.addMember(ctx, r.Args.Role, r.Args.Member, r.Args.Condition.expr())
	if err != nil {
		return "", memberState{}, err
	}
	id := memberID([]string{object, r.Args.Role, r.Args.Member}, r.Args.Condition)
	return id, memberState{memberArgs: r.Args, Etag: etag}, nil
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
	object := *of.object(&args)
	h, err := of.holder(ctx, object)
	if err != nil {
		return "", memberState{}, err
	}
	if r.Importing {
		if args.Condition, err = h.titled(ctx, args.Role, args.Member, title); err != nil {
			return "", memberState{}, err
		}
	}
	etag, err := h.hasMember(ctx, args.Role, args.Member, args.Condition.expr())
	if err != nil {
		return "", memberState{}, err
	}
	return memberID([]string{object, args.Role, args.Member}, args.Condition), memberState{memberArgs: args, Etag: etag}, nil
}

func (of memberOf) remove(ctx context.Context, r memberRequest) error {
	args := r.State.memberArgs
	h, err := of.holder(ctx, *of.object(&args))
	if err != nil {
		return err
	}
	return h.removeMember(ctx, args.Role, args.Member, args.Condition.expr())
}
