package teardown

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Waiting is told what is waited for.
type Waiting func(what string)

// Blocked is the error of what does not go.
type Blocked struct{ Blockers []Blocker }

// Blocker is one thing that holds a teardown up.
type Blocker struct {
	// Object names it, for example "Stack team-web/shop". Reason says why it does not go, Next what to do.
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
	return fmt.Sprintf("%d objects do not go: %s", len(lines), strings.Join(lines, "; "))
}

// join makes one report of what held two parts up. Another error goes before a report.
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

// remaining is what has not gone yet.
type remaining struct {
	// name is said while it is waited for. A change of state is progress; working says that there is some without one.
	name, state string
	working     bool
	// blocker explains it. It is asked when patience is over.
	blocker func(context.Context) []Blocker
}

// hiccup is how long the API server may fail to answer.
const hiccup = 5 * time.Second

// gone waits until look finds nothing any more. What it finds after there was no progress for as long as Options say is
// reported as Blocked.
func (c *Cluster) gone(ctx context.Context, waiting Waiting, look func(context.Context) ([]remaining, error)) error {
	began, answered := time.Now(), time.Now()
	seen := progressOf{states: map[string]string{}, since: map[string]time.Time{}}
	for {
		left, err := look(ctx)
		switch {
		case err != nil && (ctx.Err() != nil || time.Since(answered) > hiccup):
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

// progressOf remembers since when what is left is as it is, by its name.
type progressOf struct {
	states map[string]string
	since  map[string]time.Time
}

// none tells whether nothing of what is left has made any progress for so long.
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

// orPurge completes what to do next by the way out that is left.
func (c *Cluster) orPurge(next string) string {
	if c.options.Purge == "" {
		return next
	}
	return next + ", or `" + c.options.Purge + "` to throw everything away in spite of it"
}
