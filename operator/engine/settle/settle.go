// Package settle settles the operations that a killed run of Pulumi left pending in a stack's state.
//
// The engine records an operation in the state before the operation starts, and removes the record when it is done. A killed
// run leaves records. A pending update, deletion or read leaves its resource in the state, so a refresh shows the state of
// the object. After a pending creation, nobody knows whether the object exists. Pulumi keeps the record for people to
// resolve, and the next run creates the object again: either the service rejects the name, or there are two objects.
//
// This package settles a creation by the ID that the object has if it exists. It adds the resource to the state with that
// ID and refreshes it. The refresh removes the resource from the state if the object does not exist. If the inputs do not
// determine the ID, this package drops the record, and the next run tries the creation again.
package settle

import (
	"context"
	"fmt"
)

// Stack is the access to a stack of Pulumi.
type Stack interface {
	// Export returns the state as `pulumi stack export` prints it.
	Export(ctx context.Context) ([]byte, error)

	// Import replaces the state, as `pulumi stack import` does.
	Import(ctx context.Context, state []byte) error

	// Refresh reads the resources with these URNs, as `pulumi refresh --target` does, under the stack's lock. There is at
	// least one URN, and the state has a resource for each.
	Refresh(ctx context.Context, urns []string) error
}

// Settler settles the pending operations of a stack.
type Settler struct {
	Stack Stack

	// Project is the Google Cloud project of providers whose inputs set none. It may be empty.
	Project string

	// Destroys says that a destroy of the whole stack follows.
	Destroys bool

	// Limit is the number of unsettled resources beyond which Settle returns a [*LimitError]. Zero means no limit.
	Limit int

	// Holder returns the name of another stack's owner if that stack has the object of this type and ID in its state, or an
	// empty string. Nil means that no other stack can have it.
	Holder func(ctx context.Context, typ, id string) string

	// Discard deletes objects of interrupted creations that the next run would not find, such as keys. It must keep objects
	// whose ID the state holds. Nil deletes nothing.
	Discard func(ctx context.Context, creations []Creation, held func(id string) bool) error

	// Tell receives the outcome of each interrupted creation that users may have to act on. Nil ignores the outcomes.
	Tell func(Finding)
}

// LimitError is the error of a state in which killed runs left more than [Settler.Limit] resources unsettled.
type LimitError struct{ Unsettled, Limit int }

// Error implements the error interface.
func (e *LimitError) Error() string {
	return fmt.Sprintf("an interrupted run left %d pending operations in the stack's state, and the limit is %d: settle them with pulumi refresh", e.Unsettled, e.Limit)
}

// Outcome is the result of settling an interrupted creation.
type Outcome int

const (
	// Adopted says that the stack has the resource now if the object exists.
	Adopted Outcome = iota

	// Held says that another stack has the object in its state. Settle drops the record of the creation.
	Held

	// Undecided says that the inputs do not determine the ID. Settle drops the record of the creation, and the object may exist.
	Undecided
)

// Finding is the outcome of one interrupted creation.
type Finding struct {
	// URN is the URN of the resource.
	URN     string
	Outcome Outcome

	// Holder is the owner of the other stack if Outcome is Held.
	Holder string
}

// Message describes the finding in one line and says what to do about it. name is the name of the resource for users.
func (f Finding) Message(name string) string {
	switch f.Outcome {
	case Held:
		return fmt.Sprintf("the creation of %s was interrupted, and the object with its name belongs to another stack, in %s: "+
			"the stack does not adopt it; give this resource another name", name, f.Holder)
	case Undecided:
		return fmt.Sprintf("the creation of %s was interrupted, and its inputs do not determine the object's ID: "+
			"check whether an object exists that is not in the stack's state, and delete it", name)
	default:
		return fmt.Sprintf("the creation of %s was interrupted: the stack adopts the object if it exists", name)
	}
}

// Settle settles everything that killed runs left pending. If Settle itself is interrupted, the next call continues. The
// caller must not run the stack at the same time.
func (s Settler) Settle(ctx context.Context) error {
	state, err := s.export(ctx)
	if err != nil || !state.Unsettled() {
		return err
	}
	// The refresh also takes the stack's lock, which proves that no other run is alive.
	if err := s.refresh(ctx, state, state.unfinished()); err != nil {
		return err
	}
	if state, err = s.export(ctx); err != nil {
		return err
	}
	if forgot := state.forget(s.Destroys); forgot || state.Interrupted() {
		if state, err = s.adopt(ctx, state); err != nil {
			return err
		}
	}
	if !state.own() {
		return nil
	}
	return s.store(ctx, state)
}

// adopt settles the pending creations, and returns the state after that.
func (s Settler) adopt(ctx context.Context, state *State) (*State, error) {
	if s.Discard != nil {
		if creations := state.creations(); len(creations) > 0 {
			if err := s.Discard(ctx, creations, state.holdsID); err != nil {
				return nil, err
			}
		}
	}
	objects := state.objects()
	for _, op := range state.pending {
		if op.Type != opCreating || !op.Resource.yes("custom") {
			continue
		}
		if finding := s.decide(ctx, state, objects, op.Resource); finding != nil && s.Tell != nil {
			s.Tell(*finding)
		}
	}
	state.pending = nil
	if err := s.store(ctx, state); err != nil {
		return nil, err
	}
	if urns := state.unfinished(); len(urns) > 0 {
		if err := s.refresh(ctx, state, urns); err != nil {
			return nil, err
		}
	}
	return s.export(ctx)
}

// decide adds the resource of an interrupted creation to the state if its ID is known and no stack has the object. objects
// holds the objects of this stack. decide returns nil if the next run creates the resource again without help.
func (s Settler) decide(ctx context.Context, state *State, objects map[object]bool, created resource) *Finding {
	typ, urn := created.text("type"), created.text("urn")
	if existsInStateOnly(typ) || composites[typ] && !s.Destroys {
		return nil
	}
	id := state.idOf(created)
	if id == "" {
		return &Finding{URN: urn, Outcome: Undecided}
	}
	if objects[object{typ, id}] {
		return nil
	}
	if s.Holder != nil {
		if holder := s.Holder(ctx, typ, id); holder != "" {
			return &Finding{URN: urn, Outcome: Held, Holder: holder}
		}
	}
	state.add(created, id)
	objects[object{typ, id}] = true
	return &Finding{URN: urn, Outcome: Adopted}
}

// export reads the state and checks it against the limit.
func (s Settler) export(ctx context.Context) (*State, error) {
	data, err := s.Stack.Export(ctx)
	if err != nil {
		return nil, err
	}
	state, err := parse(data, s.Project)
	if err != nil {
		return nil, err
	}
	if left := max(len(state.pending), len(state.unfinished())); s.Limit > 0 && left > s.Limit {
		return nil, &LimitError{Unsettled: left, Limit: s.Limit}
	}
	return state, nil
}

// store writes the state without its pending operations.
func (s Settler) store(ctx context.Context, state *State) error {
	data, err := state.encode()
	if err != nil {
		return fmt.Errorf("encode the state of the stack: %w", err)
	}
	return s.Stack.Import(ctx, data)
}

// refresh refreshes resources and the stack itself. Without the stack there might be no target, and Pulumi would refresh
// everything.
func (s Settler) refresh(ctx context.Context, state *State, urns []string) error {
	if stack := state.stack(); stack != "" {
		urns = append(urns, stack)
	}
	if len(urns) == 0 {
		return nil // the run was killed before it recorded the stack
	}
	return s.Stack.Refresh(ctx, urns)
}
