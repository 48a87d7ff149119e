package approvals

import (
	"context"
	"fmt"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/operator/approval"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/teams"
)

// User returns the name that the API server knows the user of the client by.
func (c *Client) User(ctx context.Context) (string, error) {
	review, err := c.reviews.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("ask the API server for your name: %w", err)
	}
	return review.Status.UserInfo.Username, nil
}

// May returns an error if the user of the client has no right to approve Plans in a namespace.
func (c *Client) May(ctx context.Context, namespace string) error {
	review, err := c.reviews.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: "create", Group: plan.Group, Version: plan.Version, Resource: approval.Plural,
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("ask the API server for your rights in namespace %s: %w", namespace, err)
	}
	if !review.Status.Allowed {
		return c.denied(ctx, namespace)
	}
	return nil
}

// denied says who may approve.
func (c *Client) denied(ctx context.Context, namespace string) error {
	user, err := c.User(ctx)
	if err != nil {
		return err
	}
	team := strings.TrimPrefix(namespace, teams.Team{}.Namespace())
	as := user
	if strings.HasPrefix(user, "system:serviceaccount:"+namespace+":") {
		as = "team, which stands for the team's own accounts"
	}
	return fmt.Errorf("%s may not approve Plans in namespace %s: ask somebody who may, or the platform team, which grants the right in teams.yaml: approval.by of team %s names users and groups, such as %s",
		user, namespace, team, as)
}

// explain turns the API server's refusal to read into the reason for which the user cannot approve.
func (c *Client) explain(ctx context.Context, namespace string, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	if denied := c.May(ctx, namespace); denied != nil {
		return denied
	}
	return err
}

// Approve approves the result of a Plan, as the user of the client. It returns an error if the Plan has another result by now. The
// Approval belongs to the Plan, and is deleted with it.
func (c *Client) Approve(ctx context.Context, p *plan.Plan) (*approval.Approval, error) {
	user, err := c.User(ctx)
	if err != nil {
		return nil, err
	}
	now, err := c.plans.Get(ctx, p.Namespace, p.Name)
	if err != nil {
		return nil, err
	}
	a := &approval.Approval{
		ObjectMeta: metav1.ObjectMeta{
			Name: p.Name, Namespace: p.Namespace,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: plan.Group + "/" + plan.Version, Kind: plan.Kind, Name: p.Name, UID: p.UID}},
		},
		Spec: approval.Spec{By: user, Plan: &approval.Plan{Name: p.Name, UID: p.UID, Digest: p.Status.Digest}},
	}
	if !covers(a, now) {
		return nil, fmt.Errorf("Plan %s has changed while you read it: run the command again to see its new result", p.Name)
	}
	made, err := c.create(ctx, a)
	if apierrors.IsAlreadyExists(err) {
		// An Approval of an earlier result, or of an earlier Plan of this name.
		a.Name, a.GenerateName = "", p.Name+"-"
		made, err = c.create(ctx, a)
	}
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("approve Plan %s/%s: this platform has no Approvals: `strata up` installs the kind", p.Namespace, p.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("approve Plan %s/%s: %w", p.Namespace, p.Name, err)
	}
	return made, nil
}

func (c *Client) create(ctx context.Context, a *approval.Approval) (*approval.Approval, error) {
	object, err := a.Object()
	if err != nil {
		return nil, err
	}
	made, err := c.approvals(a.Namespace).Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	return approval.From(made)
}
