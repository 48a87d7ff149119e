// Package observe reads the status of Stacks and Programs.
package observe

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// Stack converts a Stack. Fields of other types than those of Strata's kind stay empty.
func Stack(object *unstructured.Unstructured) *v1.Stack {
	if object == nil {
		return nil
	}
	stack := &v1.Stack{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, stack); err != nil {
		stack.SetName(object.GetName())
	}
	return stack
}

// Condition returns a condition of the Stack's present generation.
func Condition(stack *v1.Stack, kind string) metav1.Condition {
	if stack != nil && stack.Status.ObservedGeneration == stack.Generation {
		if found := meta.FindStatusCondition(stack.Status.Conditions, kind); found != nil {
			return *found
		}
	}
	return metav1.Condition{}
}

// Ready reports whether an operator has applied the present generation.
func Ready(stack *v1.Stack) bool {
	return Condition(stack, v1.ReadyCondition).Status == metav1.ConditionTrue &&
		stack.Status.LastUpdate != nil && stack.Status.LastUpdate.Generation == stack.Generation
}

// ReadyAfter reports whether an operator has applied the Stack once more since before.
func ReadyAfter(before *v1.Stack) func(*v1.Stack) bool {
	return func(stack *v1.Stack) bool {
		return Ready(stack) && stack.Status.LastUpdate.Name != before.Status.LastUpdate.Name
	}
}

// Unready reports whether the Stack says why it is not Ready: it is Reconciling or Stalled.
func Unready(stack *v1.Stack) bool {
	return Condition(stack, v1.ReadyCondition).Status == metav1.ConditionFalse &&
		(Condition(stack, v1.ReconcilingCondition).Status == metav1.ConditionTrue || Condition(stack, v1.StalledCondition).Status == metav1.ConditionTrue)
}

// NeverRan returns an error if a Stack has run.
func NeverRan(stack *v1.Stack) error {
	if stack.Status.LastUpdate != nil || len(stack.Status.Outputs) > 0 {
		return errors.New("it has run: " + Describe(stack))
	}
	return nil
}

// Describe describes the status of a Stack in one line.
func Describe(stack *v1.Stack) string {
	var parts []string
	for _, c := range stack.Status.Conditions {
		parts = append(parts, fmt.Sprintf("%s is %s (%s: %s)", c.Type, c.Status, c.Reason, c.Message))
	}
	if len(parts) == 0 {
		parts = append(parts, "no operator has set a condition")
	} else if stack.Status.ObservedGeneration != stack.Generation {
		parts = append(parts, fmt.Sprintf("of generation %d, not %d", stack.Status.ObservedGeneration, stack.Generation))
	}
	if last := stack.Status.LastUpdate; last != nil {
		parts = append(parts, strings.TrimSuffix(fmt.Sprintf("lastUpdate: %s %s: %s", last.Type, last.State, last.Message), ": "))
	}
	return Line(strings.Join(parts, "; "))
}

// longestLine is the maximum length of a text that an operator may choose.
const longestLine = 600

// Line returns a text as one line of limited length.
func Line(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > longestLine {
		text = strings.ToValidUTF8(text[:longestLine], "") + "…"
	}
	return text
}

// Observed reports whether an operator has seen a Program's generation.
func Observed(program *unstructured.Unstructured) bool {
	if program == nil {
		return false
	}
	generation, _, _ := unstructured.NestedInt64(program.Object, "status", "observedGeneration")
	return generation == program.GetGeneration()
}

// Program describes the status of a Program.
func Program(program *unstructured.Unstructured) string {
	generation, _, _ := unstructured.NestedInt64(program.Object, "status", "observedGeneration")
	shown := []string{fmt.Sprintf("observedGeneration %d of %d", generation, program.GetGeneration())}
	for _, kind := range []string{v1.ReadyCondition, v1.StalledCondition} {
		if got := ProgramCondition(program, kind); got != "" {
			shown = append(shown, fmt.Sprintf("%s is %s", kind, got))
		}
	}
	return strings.Join(shown, "; ")
}

// ProgramCondition returns the status of a condition of a Program.
func ProgramCondition(program *unstructured.Unstructured, kind string) string {
	list, _, _ := unstructured.NestedSlice(program.Object, "status", "conditions")
	for _, each := range list {
		if c, ok := each.(map[string]any); ok && c["type"] == kind {
			found, _ := c["status"].(string)
			return found
		}
	}
	return ""
}

// Failed reports whether a run of the present generation has failed.
func Failed(stack *v1.Stack) bool {
	if !Unready(stack) {
		return false
	}
	stalled := Condition(stack, v1.StalledCondition).Status == metav1.ConditionTrue
	last := stack.Status.LastUpdate
	return stalled || last != nil && last.Generation == stack.Generation && last.State == v1.FailedStackStateMessage
}

// Outputs compares outputs of a Stack.
func Outputs(stack *v1.Stack, want map[string]string) (string, error) {
	var seen []string
	var wrong error
	for name, value := range want {
		got := strings.ReplaceAll(string(stack.Status.Outputs[name].Raw), " ", "")
		seen = append(seen, name+"="+got)
		if got != value {
			wrong = errors.Join(wrong, fmt.Errorf("output %s is %q, want %s", name, got, value))
		}
	}
	slices.Sort(seen)
	return strings.Join(seen, ", "), wrong
}
