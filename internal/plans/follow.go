package plans

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/strata-platform/strata/operator/plan"
)

// again is the time between two watches, if the API server ends the first.
const again = time.Second

// Done reports whether the operator has ended its work on a Plan.
func Done(p *plan.Plan) bool { return p.Status.Phase == plan.Ready || p.Status.Phase == plan.Failed }

// State describes in a few words what an unfinished Plan waits for.
func State(p *plan.Plan) string {
	switch {
	case p.Status.Phase == "":
		return "waits for the operator"
	case p.Status.Message != "":
		return p.Status.Message
	}
	return "the operator plans it"
}

// Follow waits until the operator has ended its work on a created Plan, and returns the Plan. It passes the state to say whenever it
// changes. After the end of ctx it returns an error with the last state.
func (c *Client) Follow(ctx context.Context, created *plan.Plan, say func(state string)) (*plan.Plan, error) {
	last := ""
	for {
		p, err := c.Get(ctx, created.Namespace, created.Name)
		switch {
		case ctx.Err() != nil:
			return nil, unfinished(ctx, created.Name, last)
		case err != nil:
			return nil, fmt.Errorf("%w; a newer Plan of its branch ends an older one", err)
		case p.UID != created.UID:
			return nil, fmt.Errorf("another Plan has taken the place of %s: somebody has planned the same commit again", created.Name)
		case Done(p):
			return p, nil
		}
		if state := State(p); state != last {
			last = state
			say(state)
		}
		if err := c.next(ctx, p); err != nil {
			return nil, err
		}
	}
}

func unfinished(ctx context.Context, name, state string) error {
	return fmt.Errorf("Plan %s has no result yet (%s): %w; `strata plan show %s` shows the Plan later", name, state, context.Cause(ctx), name)
}

// next waits until a Plan changes, or ctx ends.
func (c *Client) next(ctx context.Context, p *plan.Plan) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changes, err := c.plans(p.Namespace).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + p.Name, ResourceVersion: p.ResourceVersion})
	if err == nil {
		defer changes.Stop()
		for event := range changes.ResultChan() {
			object, ok := event.Object.(*unstructured.Unstructured)
			if !ok || event.Type == watch.Error {
				break
			}
			if object.GetResourceVersion() != p.ResourceVersion {
				return nil
			}
		}
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("follow Plan %s/%s: %w", p.Namespace, p.Name, err)
	}
	// The API server has ended the watch: it does so from time to time.
	select {
	case <-ctx.Done():
	case <-time.After(again):
	}
	return nil
}
