// Package report prints Plans, for people and for the comments of forges. All names, values and messages of a Plan come from a commit
// that nobody has reviewed, so the package escapes each of them.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/plans"
	"github.com/strata-platform/strata/internal/plans/approvals"
	"github.com/strata-platform/strata/operator/plan"
)

// Subject is a Plan with the state of its approval.
type Subject struct {
	*plan.Plan
	Approval approvals.State
	// Approve is the command that approves the Plan.
	Approve string
}

// On returns the subject of a Plan. call returns a command line of strata, such as "strata up" for "up".
func On(p *plan.Plan, state approvals.State, call func(words string) string) Subject {
	return Subject{p, state, call(approvals.Command(p))}
}

// origin says what has been planned: a commit, or the next run of a Stack. of is the word before a branch.
func (s Subject) origin(text func(string, int) string, of string) string {
	var parts []string
	if s.Spec.Stack != "" {
		parts = append(parts, "the next run of Stack "+text(s.Spec.Stack, mostName))
	}
	if s.Spec.Commit != "" || s.Spec.Stack == "" {
		parts = append(parts, "commit "+text(short(s.Spec.Commit), mostName))
	}
	origin := strings.Join(parts, ", ")
	if s.Spec.Branch != "" {
		origin += of + " branch " + text(s.Spec.Branch, mostName)
	}
	return origin
}

// consent returns what a reader must know about the approval of a Plan, or "".
func (s Subject) consent(text func(string, int) string) string {
	switch {
	case s.Approval.By != "":
		return fmt.Sprintf("Approved by %s on %s.", text(s.Approval.By, mostName), s.Approval.Time.UTC().Format(time.RFC3339))
	case s.Approval.Needed && s.Spec.Stack != "":
		return fmt.Sprintf("Stack %s waits for approval: %s", text(s.Spec.Stack, mostName), text(s.Approve, mostCommand))
	case s.Approval.Needed:
		return "The operator waits for an approval before it does this: " + text(s.Approve, mostCommand)
	}
	return ""
}

// Maximum numbers of characters of texts in a report.
const (
	mostName, mostType, mostPath, mostValue, mostMessage, mostCommand = 120, 120, 160, 200, 400, 500
)

// mostLosses is the maximum number of data losses at the top of a text. All of them are in the rest of the text, too.
const mostLosses = 20

// counted are the operations in the summary, in its order, and their names for people.
var counted = []struct{ op, name string }{
	{"create", "create"}, {"update", "update"}, {"replace", "replace"}, {"delete", "delete"}, {"same", "unchanged"},
}

// others describes the counts of a Stack that the summary does not show, such as "1 import, 2 read".
func others(stack plan.Stack) string {
	var parts []string
	for op, count := range stack.Changes {
		if count > 0 && !slices.ContainsFunc(counted, func(c struct{ op, name string }) bool { return c.op == op }) {
			parts = append(parts, fmt.Sprintf("%d %s", count, op))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// steps returns the steps of a Stack in the order of [plan.CompareSteps].
func steps(stack plan.Stack) []plan.Step {
	sorted := slices.Clone(stack.Steps)
	slices.SortStableFunc(sorted, plan.CompareSteps)
	return sorted
}

// loss is a step of a Stack that loses data.
type loss struct {
	stack string
	plan.Step
}

// subject says who does what a step of an entry says.
func subject(entry string, text func(string, int) string) string {
	if entry == plan.Orders {
		return "the commit"
	}
	return "Stack " + text(entry, mostName)
}

// heading returns the heading of an entry.
func heading(entry string, text func(string, int) string) string {
	if entry == plan.Orders {
		return "Orders of the catalogue"
	}
	return "Stack " + text(entry, mostName)
}

// verb says what the step does to its resource.
func (l loss) verb() string {
	if l.Op == "replace" {
		return "replaces"
	}
	return "deletes"
}

// losses returns the steps of a Plan that lose data.
func losses(p *plan.Plan) (all []loss) {
	for _, stack := range p.Status.Stacks {
		for _, step := range stack.Steps {
			if step.LosesData {
				all = append(all, loss{stack.Name, step})
			}
		}
	}
	return all
}

// notes returns what a reader must know about the plan of a Stack beside its steps.
func notes(stack plan.Stack, text func(string, int) string) (all []string) {
	if stack.Removed {
		all = append(all, "The commit no longer contains the Stack.")
	}
	if stack.Message != "" {
		begin := "Note: "
		if stack.Failed {
			begin = "Cannot be planned: "
		}
		all = append(all, begin+text(stack.Message, mostMessage))
	}
	if rest := others(stack); rest != "" {
		all = append(all, "Also: "+text(rest, mostMessage)+".")
	}
	if stack.More > 0 {
		all = append(all, fmt.Sprintf("Other resources that change: %d.", stack.More))
	}
	if stack.Uncompared > 0 {
		all = append(all, fmt.Sprintf("Secret values that were not compared, because a plan shows no secrets: %d.", stack.Uncompared))
	}
	return all
}

// state describes the result of a Plan in a few words, and its message.
func state(p *plan.Plan) (words, message string) {
	switch {
	case p.Status.Phase == plan.Failed && len(p.Status.Stacks) == 0:
		return "The commit cannot be planned.", p.Status.Message
	case p.Status.Phase == plan.Failed:
		return "Not all Stacks can be planned.", p.Status.Message
	case !plans.Done(p):
		return "It has no result yet.", plans.State(p)
	case len(p.Status.Stacks) == 0:
		return "The commit changes no Stack.", p.Status.Message
	}
	return "", p.Status.Message
}

// short returns the beginning of a commit's ID.
func short(commit string) string { return commit[:min(len(commit), 10)] }

// Brief describes a Plan in a few words, such as "1 create, 2 delete, loses data".
func Brief(p *plan.Plan) string {
	if !plans.Done(p) {
		return ""
	}
	var parts []string
	for _, each := range counted {
		count := 0
		for _, stack := range p.Status.Stacks {
			count += stack.Changes[each.op]
		}
		if count > 0 && each.op != "same" {
			parts = append(parts, fmt.Sprintf("%d %s", count, each.name))
		}
	}
	failed := 0
	for _, stack := range p.Status.Stacks {
		if stack.Failed {
			failed++
		}
	}
	unseen := 0
	for _, stack := range p.Status.Stacks {
		if stack.Unseen {
			unseen++
		}
	}
	switch {
	case failed > 0:
		parts = append(parts, fmt.Sprintf("%d failed", failed))
	case p.Status.Phase == plan.Failed:
		parts = append(parts, "failed")
	case len(parts) == 0 && unseen == 0:
		parts = []string{"no changes"}
	}
	if unseen > 0 {
		parts = append(parts, fmt.Sprintf("%d not planned", unseen))
	}
	if len(losses(p)) > 0 {
		parts = append(parts, "loses data")
	}
	return strings.Join(parts, ", ")
}
