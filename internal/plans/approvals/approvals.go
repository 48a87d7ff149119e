// Package approvals approves Plans, and finds out which Plans need an approval and who has approved them.
package approvals

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/plans"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/approval"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/teams"
)

// Client approves Plans in a cluster, as one user.
type Client struct {
	plans   *plans.Client
	objects dynamic.Interface
	reviews kubernetes.Interface
}

// NewClient returns a client for the API server of a configuration.
func NewClient(config *rest.Config) (*Client, error) {
	of, err := plans.NewClient(config)
	if err != nil {
		return nil, err
	}
	c := &Client{plans: of}
	for _, open := range []func() error{
		func() (err error) { c.objects, err = dynamic.NewForConfig(config); return err },
		func() (err error) { c.reviews, err = kubernetes.NewForConfig(config); return err },
	} {
		if err := open(); err != nil {
			return nil, fmt.Errorf("connect to the cluster: %w", err)
		}
	}
	return c, nil
}

// State says whether a Plan needs an approval, and who has given it.
type State struct {
	// Needed says that the operator does what the Plan says only after an approval.
	Needed bool `json:"needed"`
	// By is the user who has approved the Plan; empty if nobody has.
	By string `json:"by"`
	// Time is the time of the approval; nil without one.
	Time *time.Time `json:"time"`
}

// Waits reports whether the Plan still needs an approval.
func (s State) Waits() bool { return s.Needed && s.By == "" }

// Command returns the words of the command that approves a Plan, such as "approve stack.shop --team web".
func Command(p *plan.Plan) string {
	return "approve " + p.Name + " --team " + strings.TrimPrefix(p.Namespace, teams.Team{}.Namespace())
}

// StateOf returns the state of one Plan.
func (c *Client) StateOf(ctx context.Context, p *plan.Plan) (State, error) {
	all, err := c.States(ctx, p.Namespace, []*plan.Plan{p})
	if err != nil {
		return State{}, err
	}
	return all[0], nil
}

// States returns the states of Plans of a namespace.
func (c *Client) States(ctx context.Context, namespace string, all []*plan.Plan) ([]State, error) {
	given, err := c.list(ctx, namespace)
	if err != nil {
		return nil, err
	}
	states := make([]State, len(all))
	for i, p := range all {
		states[i].Needed = needed(p)
		if j := slices.IndexFunc(given, func(a *approval.Approval) bool { return covers(a, p) }); j >= 0 {
			states[i].By, states[i].Time = given[j].Spec.By, new(given[j].CreationTimestamp.UTC())
		}
	}
	return states, nil
}

// covers reports whether an Approval is one of the present result of a Plan.
func covers(a *approval.Approval, p *plan.Plan) bool {
	return a.Spec.Plan != nil && *a.Spec.Plan == approval.Plan{Name: p.Name, UID: p.UID, Digest: p.Status.Digest}
}

func (c *Client) approvals(namespace string) dynamic.ResourceInterface {
	return c.objects.Resource(approval.Resource()).Namespace(namespace)
}

// list returns the Approvals of a namespace, the oldest first. A platform without the kind has none, and a user without the right to
// read them, such as a job that plans, sees none.
func (c *Client) list(ctx context.Context, namespace string) ([]*approval.Approval, error) {
	list, err := c.approvals(namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the Approvals in namespace %s: %w", namespace, err)
	}
	var all []*approval.Approval
	for i := range list.Items {
		a, err := approval.From(&list.Items[i])
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b *approval.Approval) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return all, nil
}

var stackResource = v1.GroupVersion.WithResource("stacks")

// needed reports whether a Plan needs an approval. The operator decides, because only it knows the Stacks of the commit as admission
// completes them: a commit can itself demand an approval.
func needed(p *plan.Plan) bool {
	if p.Status.Phase != plan.Ready {
		return false
	}
	// The operator creates the Plan of a Stack only if the Stack waits.
	return p.Spec.Stack != "" || slices.ContainsFunc(p.Status.Stacks, func(s plan.Stack) bool { return s.Approval != "" })
}

// Find returns a Plan that can be approved, and its state. Otherwise its error says why nobody can approve the Plan; for an unknown
// Plan it names those that wait.
func (c *Client) Find(ctx context.Context, namespace, name string) (*plan.Plan, State, error) {
	p, err := c.plans.Get(ctx, namespace, name)
	if unknown := (*plans.UnknownError)(nil); errors.As(err, &unknown) {
		waiting, listErr := c.Waiting(ctx, namespace)
		switch {
		case listErr != nil:
			return nil, State{}, err
		case len(waiting) == 0:
			return nil, State{}, fmt.Errorf("there is no Plan %q in namespace %s, and none waits for an approval: `strata plan list` shows all", name, namespace)
		}
		return nil, State{}, fmt.Errorf("there is no Plan %q in namespace %s: these wait for an approval: %s", name, namespace, strings.Join(waiting, ", "))
	}
	if err != nil {
		return nil, State{}, c.explain(ctx, namespace, err)
	}
	switch {
	case p.Status.Phase == plan.Failed:
		return nil, State{}, fmt.Errorf("Plan %s cannot be approved: not all of its Stacks can be planned: `strata plan show %s` says why", name, name)
	case p.Status.Phase != plan.Ready || p.Status.Digest == "":
		return nil, State{}, fmt.Errorf("Plan %s cannot be approved yet: it has no result (%s): run the command again", name, plans.State(p))
	case len(p.Status.Stacks) == 0:
		return nil, State{}, fmt.Errorf("Plan %s needs no approval: its commit changes no Stack", name)
	}
	state, err := c.StateOf(ctx, p)
	return p, state, err
}

// Waiting returns the names of the Plans of a namespace that wait for an approval, the newest first.
func (c *Client) Waiting(ctx context.Context, namespace string) ([]string, error) {
	all, err := c.plans.List(ctx, namespace)
	if err != nil {
		return nil, err
	}
	states, err := c.States(ctx, namespace, all)
	if err != nil {
		return nil, err
	}
	var names []string
	for i, p := range all {
		if states[i].Waits() {
			names = append(names, p.Name)
		}
	}
	return names, nil
}
