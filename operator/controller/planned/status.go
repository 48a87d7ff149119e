package planned

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/operator/plan"
)

// mostTotal bounds a Plan with its status, in bytes. etcd takes objects of up to 1.5 MiB.
const mostTotal = 1_100_000

// levels are the bounds of the steps of a Stack and of the fields of a step, until the status is small enough.
var levels = [][2]int{{mostSteps, mostFields}, {100, 5}, {50, 2}, {20, 0}, {5, 0}, {0, 0}}

// Result is the result of the previews of a Plan.
type Result struct {
	// Stacks are the plans of the Stacks.
	Stacks []plan.Stack

	// Size is the size of the Plan without its status, in bytes.
	Size int

	// Note is the message of the Plan.
	Note string

	// Failed says that the Plan has failed, whatever its Stacks say.
	Failed bool

	// Hides says that a Stack has more steps that lose data than a status holds.
	Hides bool
}

// Status returns the status of a complete Plan. A Plan that cannot show every step that loses data fails, because nobody could approve
// it.
func (r Result) Status() plan.Status {
	slices.SortFunc(r.Stacks, func(a, b plan.Stack) int { return strings.Compare(a.Name, b.Name) })
	now := metav1.NewTime(time.Now())
	status := plan.Status{Phase: plan.Ready, Message: Clean(r.Note, LongestMessage), Completed: &now}
	var bad []string
	for _, stack := range r.Stacks {
		if stack.Failed {
			bad = append(bad, stack.Name)
		}
	}
	if len(bad) > 0 && status.Message == "" {
		status.Message = Clean("cannot be planned: Stack "+strings.Join(bad, ", "), LongestMessage)
	}
	for _, level := range levels {
		if status.Stacks = bounded(r.Stacks, level[0], level[1]); r.Size+SizeOf(status.Stacks) <= mostTotal {
			break
		}
	}
	if losses(status.Stacks) < losses(r.Stacks) || r.Hides {
		r.Failed, status.Message = true, "the plan is too large to show every step that loses data: divide the commit"
	}
	if r.Failed || len(bad) > 0 {
		status.Phase = plan.Failed
		return status
	}
	status.Digest = digest(status.Stacks)
	return status
}

// losses counts the steps that lose data.
func losses(stacks []plan.Stack) (n int) {
	for _, stack := range stacks {
		for _, step := range stack.Steps {
			if step.LosesData {
				n++
			}
		}
	}
	return n
}

// digest returns the digest of the plans of Stacks. Their JSON is canonical: the fields have an order, and encoding/json sorts maps.
func digest(stacks []plan.Stack) string {
	content, _ := json.Marshal(stacks) // It has texts and numbers only.
	return fmt.Sprintf("sha256:%x", sha256.Sum256(content))
}

// SizeOf returns the size of a value as JSON.
func SizeOf(value any) int {
	content, _ := json.Marshal(value)
	return len(content)
}

// bounded returns plans with at most so many steps for each Stack and fields for each step.
func bounded(stacks []plan.Stack, steps, fields int) []plan.Stack {
	less := slices.Clone(stacks)
	for i := range less {
		kept := min(len(less[i].Steps), steps)
		less[i].More += len(less[i].Steps) - kept
		less[i].Steps = slices.Clone(less[i].Steps[:kept])
		for j := range less[i].Steps {
			step := &less[i].Steps[j]
			some := min(len(step.Fields), fields)
			step.More += len(step.Fields) - some
			step.Fields = step.Fields[:some]
		}
	}
	return less
}
