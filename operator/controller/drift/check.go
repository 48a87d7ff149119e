package drift

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/identity"
	"github.com/strata-platform/strata/operator/controller/slots"
	"github.com/strata-platform/strata/operator/controller/tenant"
	"github.com/strata-platform/strata/operator/engine"
)

const (
	// Limit is the time limit of a check. A check only reads, so it is much shorter than an update.
	Limit = 5 * time.Minute

	// Retry is the wait before a check that found no free slot, or that gave way to a run.
	Retry = time.Minute

	// changePoll is how often a check looks in the cache for a change of its Stack.
	changePoll = 200 * time.Millisecond
)

// ErrGaveWay is the error of a check that found no free slot, or that ended because a run needs its slot, or because its Stack
// needs a run.
var ErrGaveWay = errors.New("the drift check gave way to a run")

// Checker checks Stacks for drift. A check never keeps a run waiting: it begins only if a slot is free and nobody waits for one,
// and it ends as soon as a run needs its slot or its Stack changes. All fields are required.
type Checker struct {
	// Client reads from the cache, and requests tokens.
	Client client.Client

	// Config is the connection to the cluster, for the kubeconfigs of checks.
	Config *rest.Config

	Engine *engine.Engine
	Slots  *slots.Slots
}

// Check checks a Stack. The request contains the Stack's place and environment, and begun is called when the check has a slot.
// team reads the policy of the Stack's team. The caller releases the slot.
func (c Checker) Check(ctx context.Context, stack *v1.Stack, team *tenant.Reader, req engine.Request, begun func()) (*engine.Result, error) {
	limited, cancel := context.WithTimeout(ctx, Limit)
	defer cancel()
	stoppable, stop := context.WithCancelCause(limited)
	defer stop(nil)
	giveWay := func() { stop(ErrGaveWay) }
	if !c.Slots.TakeSpare(client.ObjectKeyFromObject(stack), giveWay) {
		return nil, ErrGaveWay
	}
	begun()
	req.Operation = engine.Drift
	if _, err := identity.Set(ctx, c.Client, c.Config, stack, team, &req); err != nil {
		return nil, err
	}
	go c.stopWhenChanged(stoppable, stack, giveWay)
	result, err := c.Engine.Run(stoppable, req)
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("drift check of Stack %s/%s was stopped: %w", stack.Namespace, stack.Name, ctx.Err())
	case errors.Is(context.Cause(stoppable), ErrGaveWay):
		return nil, ErrGaveWay
	case limited.Err() != nil:
		return nil, fmt.Errorf("it took longer than %s: %w", Limit, err)
	}
	return nil, err
}

// stopWhenChanged calls stop when the Stack or its Program changes, or when somebody requests a run.
func (c Checker) stopWhenChanged(ctx context.Context, stack *v1.Stack, stop func()) {
	ticker := time.NewTicker(changePoll)
	defer ticker.Stop()
	program := c.programVersion(ctx, stack)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := &v1.Stack{}
		if err := c.Client.Get(ctx, client.ObjectKeyFromObject(stack), now); err != nil {
			continue
		}
		if now.Generation != stack.Generation || !now.DeletionTimestamp.IsZero() || c.programVersion(ctx, stack) != program ||
			now.Annotations[v1.ReconcileRequestAnnotation] != stack.Annotations[v1.ReconcileRequestAnnotation] {
			stop()
			return
		}
	}
}

// programVersion returns the generation of the Stack's Program in the cache, or zero without a Program.
func (c Checker) programVersion(ctx context.Context, stack *v1.Stack) int64 {
	if stack.Spec.ProgramRef == nil {
		return 0
	}
	// The cache has only the metadata of Programs.
	program := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: v1.GroupVersion.String(), Kind: "Program"}}
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: stack.Namespace, Name: stack.Spec.ProgramRef.Name}, program); err != nil {
		return 0
	}
	return program.Generation
}
