package teardown

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Waiting receives a description of the objects that a teardown waits for.
type Waiting func(what string)

// Blocked is the error of deletions that make no progress.
type Blocked struct{ Blockers []Blocker }

// Blocker is one object that blocks a teardown.
type Blocker struct {
	// Object is its name, for example "Stack team-web/shop". Reason says why its deletion does not finish. Next says what
	// to do.
	Object, Reason, Next string
}

// Error implements error.
func (b *Blocked) Error() string {
	lines := make([]string, len(b.Blockers))
	for i, blocker := range b.Blockers {
		lines[i] = fmt.Sprintf("%s: %s: %s", blocker.Object, blocker.Reason, blocker.Next)
	}
	if len(lines) == 1 {
		return lines[0]
	}
	return fmt.Sprintf("the deletion of %d objects does not finish: %s", len(lines), strings.Join(lines, "; "))
}

// join merges the reports of two parts into one. Any other error takes precedence over a report.
func join(first, second error) error {
	var a, b *Blocked
	switch {
	case first == nil || second != nil && errors.As(first, &a) && !errors.As(second, &b):
		return second
	case second == nil || !errors.As(first, &a) || !errors.As(second, &b):
		return first
	}
	return &Blocked{append(slices.Clone(a.Blockers), b.Blockers...)}
}

// remaining is an object whose deletion has not finished yet.
type remaining struct {
	// name is the name that Waiting receives. A change of state counts as progress. working says that there is progress
	// although the state does not change.
	name, state string
	working     bool
	// blocker returns the explanation. It is called when the patience is over.
	blocker func(context.Context) []Blocker
}

// outage is how long requests to the API server may fail before a wait ends.
const outage = 5 * time.Second

// gone waits until look finds no more objects. If they make no progress for as long as Options allow, it returns them as
// Blocked.
func (c *Cluster) gone(ctx context.Context, waiting Waiting, look func(context.Context) ([]remaining, error)) error {
	began, answered := time.Now(), time.Now()
	seen := progressOf{states: map[string]string{}, since: map[string]time.Time{}}
	for {
		left, err := look(ctx)
		switch {
		case err != nil && (ctx.Err() != nil || time.Since(answered) > outage):
			return err
		case err == nil && len(left) == 0:
			return nil
		case err == nil:
			answered = time.Now()
			if seen.none(left, c.options.Patience) || time.Since(began) >= c.options.Limit {
				return explain(ctx, left)
			}
			waiting(names(left))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(c.poll):
		}
	}
}

// progressOf records, by name, each remaining object's state and the time of its last progress.
type progressOf struct {
	states map[string]string
	since  map[string]time.Time
}

// none reports whether no remaining object has made progress for as long as patience.
func (p progressOf) none(left []remaining, patience time.Duration) bool {
	stuck := true
	for _, r := range left {
		if state, ok := p.states[r.name]; !ok || state != r.state || r.working {
			p.states[r.name], p.since[r.name] = r.state, time.Now()
		}
		stuck = stuck && time.Since(p.since[r.name]) >= patience
	}
	return stuck
}

func names(left []remaining) string {
	all := make([]string, len(left))
	for i, r := range left {
		all[i] = r.name
	}
	return strings.Join(all, ", ")
}

func explain(ctx context.Context, left []remaining) error {
	var blocked Blocked
	for _, r := range left {
		for _, b := range r.blocker(ctx) {
			if !slices.Contains(blocked.Blockers, b) {
				blocked.Blockers = append(blocked.Blockers, b)
			}
		}
	}
	return &blocked
}

// orPurge adds the purge command to the advice, if there is one.
func (c *Cluster) orPurge(next string) string {
	if c.options.Purge == "" {
		return next
	}
	return next + ", or `" + c.options.Purge + "` to delete everything despite that"
}
