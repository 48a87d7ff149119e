// Package follow follows one pushed commit until Flux has applied it and its objects are ready, or until waiting does not
// help.
package follow

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/strata-platform/strata/internal/status"
)

// State is the state of a platform after a push.
type State struct {
	Report status.Report
	// Tried says that Flux has fetched the commit and has tried to apply it. Before that, the report is about an older commit.
	Tried bool
	// Replaced says that a later push has moved the branch to another commit, so nothing reports on this one any more.
	Replaced bool
}

// Push describes a push to follow. All fields are required.
type Push struct {
	// Look reads the state. Result calls it repeatedly.
	Look func(context.Context) (State, error)
	// Counts reports whether the result depends on an item.
	Counts func(status.Item) bool
	// Ready is the result if all items that count are ready.
	Ready string
	// Command is the command that shows the status.
	Command string
	// Every is the interval between two calls of Look. Patience is the time after which a lasting failure becomes the result: it
	// is not zero, because controllers retry some failures with success.
	Every, Patience time.Duration
}

// refused are the reasons of a Kustomization whose commit Flux has not applied.
var refused = []string{"BuildFailed", "ReconciliationFailed"}

// Result waits for the result of the push, until ctx ends at the latest, and returns the result as one line. While it waits, it
// passes each cause of the wait to say, once.
func (p Push) Result(ctx context.Context, say func(line string)) string {
	var last, waitingFor, failing string
	var since time.Time
	said := map[string]bool{}
	for {
		state, err := p.Look(ctx)
		cause, unready := p.cause(state.Report)
		switch {
		case ctx.Err() != nil:
			return p.unfinished(last)
		case err != nil:
			waitingFor, failing = "reading the status fails: "+err.Error(), ""
		case state.Replaced:
			return fmt.Sprintf("a later push has replaced the commit: see `%s`", p.Command)
		case !state.Tried:
			waitingFor, failing = "Flux has not applied the commit yet", ""
			if unready && cause.Layer != status.LayerTeam {
				waitingFor += ": " + cause.Cause()
			}
		case !unready:
			return p.Ready
		default:
			waitingFor = cause.Cause()
			// The object identifies the failure, because its message changes with each retry of a controller.
			if object := cause.Ref(); cause.Progressing() {
				failing = ""
			} else if object != failing {
				failing, since = object, time.Now()
			} else if p.isFinal(cause, time.Since(since)) {
				return "not ready: " + waitingFor
			}
		}
		if last = waitingFor; !said[last] {
			said[last] = true
			say(last)
		}
		select {
		case <-time.After(p.Every):
		case <-ctx.Done():
			return p.unfinished(last)
		}
	}
}

// isFinal reports whether a failure that has lasted for some time is the result.
func (p Push) isFinal(cause status.Item, lasted time.Duration) bool {
	// Flux repeats an apply, but a policy and a build always give the same result for the same commit.
	if cause.Kind == "Kustomization" && slices.Contains(refused, cause.Reason) {
		return lasted >= p.Every
	}
	// Nothing happens until a person approves. The state may still be that of an earlier commit, until the operator has seen this one.
	return cause.AwaitsApproval() && lasted >= 4*p.Every || lasted >= p.Patience
}

// unfinished returns the result of a wait that ends before the commit is ready.
func (p Push) unfinished(last string) string {
	if last == "" {
		last = "the platform does not answer"
	}
	return fmt.Sprintf("not ready yet: %s (follow it with `%s`)", last, p.Command)
}

// cause returns the first cause that explains an unready item that counts. unready is false if all of them are ready.
func (p Push) cause(report status.Report) (cause status.Item, unready bool) {
	for _, each := range report.Causes {
		if slices.ContainsFunc(append([]int{each.Item}, each.Explains...), func(i int) bool { return p.Counts(report.Items[i]) && !report.Items[i].Ready }) {
			return report.Items[each.Item], true
		}
	}
	return status.Item{}, false
}
