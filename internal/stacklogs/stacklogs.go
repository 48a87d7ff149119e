// Package stacklogs finds the logs of the runs of Stacks in a cluster.
package stacklogs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/stacklog"
)

// stacks is the resource of Stacks.
var stacks = v1.GroupVersion.WithResource("stacks")

// Found is a Stack with its log.
type Found struct {
	Namespace, Name string

	stack v1.Stack
	log   stacklog.Log
}

// Find returns the only Stack of a name in namespaces. The error names the namespaces if there are several.
func Find(ctx context.Context, config *rest.Config, namespaces []string, name string) (*Found, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	var all []*Found
	for _, namespace := range namespaces {
		object, err := client.Resource(stacks).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("read Stack %s/%s: %w", namespace, name, err)
		}
		found := &Found{Namespace: namespace, Name: name}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &found.stack); err != nil {
			return nil, fmt.Errorf("read Stack %s/%s: %w", namespace, name, err)
		}
		all = append(all, found)
	}
	switch len(all) {
	case 0:
		return nil, fmt.Errorf("there is no Stack %q in %s: `strata status` shows the Stacks", name, strings.Join(namespaces, ", "))
	case 1:
		return all[0], all[0].read(ctx, client)
	}
	var in []string
	for _, found := range all {
		in = append(in, found.Namespace)
	}
	return nil, fmt.Errorf("there is a Stack %s in %s: choose one with --team", name, strings.Join(in, ", "))
}

// read reads the Stack's log. A Stack whose first run has not ended has none.
func (f *Found) read(ctx context.Context, client dynamic.Interface) error {
	object, err := client.Resource(stacklog.Resource()).Namespace(f.Namespace).Get(ctx, f.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && !served(err):
		return fmt.Errorf("this platform keeps no logs of Stacks, because the upstream operator runs them: its pod has the log: kubectl logs --namespace %s %s-workspace-0 --container pulumi",
			f.Namespace, f.Name)
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("read the log of Stack %s/%s: %w", f.Namespace, f.Name, err)
	}
	log, err := stacklog.From(object.Object, f.stack.CreationTimestamp.Time)
	if err != nil {
		return fmt.Errorf("read the log of Stack %s/%s: %w", f.Namespace, f.Name, err)
	}
	f.log = *log
	return nil
}

// served reports whether the API server that answered "not found" serves the kind. It names the missing object if it does.
func served(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Name != ""
}

// Run returns the last run, or the last one that failed.
func (f *Found) Run(failed bool) (*stacklog.Run, error) {
	switch {
	case failed && f.log.Failed == nil && f.log.Succeeded != nil:
		return nil, fmt.Errorf("no run of Stack %s/%s has failed: leave out --failed", f.Namespace, f.Name)
	case failed && f.log.Failed != nil:
		return f.log.Failed, nil
	case f.log.Last() != nil:
		return f.log.Last(), nil
	}
	state := "the operator has not seen it yet"
	if ready := f.ready(); ready != nil && ready.Message != "" {
		state = ready.Message
	}
	return nil, fmt.Errorf("Stack %s/%s has no log yet: its next run writes one; now: %s", f.Namespace, f.Name, state)
}

// Note returns what a reader of the log of a run should know about the Stack's present state, or an empty string.
func (f *Found) Note(run *stacklog.Run) string {
	ready := f.ready()
	switch {
	case f.stack.Status.CurrentUpdate != nil && run == f.log.Last():
		return fmt.Sprintf("another run of Stack %s/%s is active, and its log follows when it ends", f.Namespace, f.Name)
	case ready != nil && ready.Status != metav1.ConditionTrue && run.Message == "":
		return fmt.Sprintf("Stack %s/%s is not ready now: %s", f.Namespace, f.Name, ready.Message)
	}
	return ""
}

func (f *Found) ready() *metav1.Condition {
	i := slices.IndexFunc(f.stack.Status.Conditions, func(c metav1.Condition) bool { return c.Type == v1.ReadyCondition })
	if i < 0 {
		return nil
	}
	return &f.stack.Status.Conditions[i]
}

// Names returns the names of the Stacks in namespaces, without duplicates, at most most of each namespace.
func Names(ctx context.Context, config *rest.Config, namespaces []string, most int64) ([]string, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	var names []string
	for _, namespace := range namespaces {
		list, err := client.Resource(stacks).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: most})
		if err != nil {
			return nil, fmt.Errorf("list the Stacks of namespace %s: %w", namespace, err)
		}
		for i := range list.Items {
			names = append(names, list.Items[i].GetName())
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
