// Package drift reads the results of the operator's drift checks, and requests checks.
package drift

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// poll is the interval between two looks at the Stacks whose checks are requested.
const poll = 200 * time.Millisecond

// Stack is a Stack with the result of its last check.
type Stack struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Checked is the time of the last check, or nil if there was none.
	Checked *time.Time `json:"checked"`
	// Problem says why there was no check, or why the last one failed; empty if it succeeded.
	Problem string `json:"problem"`
	// Resources are those that differ from what the last update left, at most 50. More counts the others.
	Resources []v1.DriftedResource `json:"resources"`
	More      int                  `json:"more"`
}

// Drifted reports whether the last check found drift.
func (s Stack) Drifted() bool { return len(s.Resources) > 0 }

// Stacks are the Stacks of some namespaces, in a cluster.
type Stacks struct {
	client     client.Client
	namespaces []string
	names      []string
}

// Of returns the Stacks in the namespaces, or those with one of the names if there are names.
func Of(config *rest.Config, namespaces, names []string) (*Stacks, error) {
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	made, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return &Stacks{made, namespaces, names}, nil
}

// List returns the Stacks with the results of their last checks, by namespace and name. A name without a Stack is an error.
func (s *Stacks) List(ctx context.Context) ([]Stack, error) {
	found, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	list := []Stack{}
	for i := range found {
		list = append(list, view(&found[i]))
	}
	return list, nil
}

// read returns the Stacks, by namespace and name.
func (s *Stacks) read(ctx context.Context) ([]v1.Stack, error) {
	var found []v1.Stack
	for _, namespace := range s.namespaces {
		var list v1.StackList
		if err := s.client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("list the Stacks in namespace %s: %w", namespace, err)
		}
		found = append(found, list.Items...)
	}
	for _, name := range s.names {
		if !slices.ContainsFunc(found, func(stack v1.Stack) bool { return stack.Name == name }) {
			return nil, fmt.Errorf("there is no Stack %s in %s: `kubectl get stacks -A` lists all", name, strings.Join(s.namespaces, ", "))
		}
	}
	if len(s.names) > 0 {
		found = slices.DeleteFunc(found, func(stack v1.Stack) bool { return !slices.Contains(s.names, stack.Name) })
	}
	slices.SortFunc(found, func(a, b v1.Stack) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
	return found, nil
}

func view(stack *v1.Stack) Stack {
	seen := Stack{Namespace: stack.Namespace, Name: stack.Name, Problem: unchecked(stack), Resources: []v1.DriftedResource{}}
	if d := stack.Status.Drift; d != nil {
		seen.Checked, seen.Problem, seen.More = &d.Time.Time, d.Message, d.More
		seen.Resources = append(seen.Resources, d.Resources...)
	} else if seen.Problem == "" {
		seen.Problem = "it was not checked yet"
	}
	return seen
}

// unchecked returns why the operator checks a Stack at no time, or an empty string.
func unchecked(stack *v1.Stack) string {
	switch last := stack.Status.LastUpdate; {
	case last == nil || stack.Status.ProjectInfo == nil:
		return "it was not applied yet"
	case last.State != v1.SucceededStackStateMessage:
		return "its last update failed"
	case last.Type != v1.UpType && last.Type != v1.RefreshType:
		return "its last operation was " + string(last.Type)
	}
	return ""
}

// Check requests a check of each Stack that can be checked, and waits until the operator has served all requests. The error
// wraps the cause of ctx's end and names a Stack that was not checked until then.
func (s *Stacks) Check(ctx context.Context) error {
	found, err := s.read(ctx)
	if err != nil {
		return err
	}
	request := time.Now().Format(time.RFC3339Nano)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{v1.DriftRequestAnnotation: request}}})
	if err != nil {
		return err
	}
	for i := range found {
		if unchecked(&found[i]) != "" {
			continue
		}
		if err := s.client.Patch(ctx, &found[i], client.RawPatch(types.MergePatchType, patch)); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("request a drift check of Stack %s/%s: %w", found[i].Namespace, found[i].Name, err)
		}
	}
	waiting := ""
	err = wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		if found, err = s.read(ctx); err != nil {
			return false, err
		}
		waiting = ""
		for i := range found {
			stack := &found[i]
			served := stack.Status.Drift != nil && stack.Status.Drift.Request == request
			if !served && stack.Annotations[v1.DriftRequestAnnotation] == request && unchecked(stack) == "" {
				waiting = stack.Namespace + "/" + stack.Name
				return false, nil
			}
		}
		return true, nil
	})
	if wait.Interrupted(err) && waiting != "" {
		return fmt.Errorf("Stack %s was not checked in time: %w; only the embedded operator checks for drift, and only while no run waits: `strata logs pulumi-operator` shows what it does", waiting, context.Cause(ctx))
	}
	return err
}
