// Package stacklog writes and reads the logs of a Stack's last runs, the kind StackLog.
//
// A StackLog is an object of its own kind, instead of a ConfigMap, for four reasons. A team may write ConfigMaps, so that every write and
// every name would need an admission policy. A quota may count ConfigMaps. A Stack may refer to a ConfigMap, and a log that changes with
// each run would start the next one. And an operator that may write ConfigMaps could change every team's context.
package stacklog

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
)

// Names of the kind. A StackLog has the name and the namespace of its Stack.
const (
	Group   = "strata.dev"
	Version = "v1"
	Kind    = "StackLog"
	Plural  = "stacklogs"
)

// Resource returns the resource of StackLogs.
func Resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: Group, Version: Version, Resource: Plural}
}

// Run is one run of a Stack.
type Run struct {
	// Operation is up, preview, refresh or destroy.
	Operation string `json:"operation"`

	// Commit is the revision of the program, or empty.
	Commit string `json:"commit"`

	// Began and Ended are the times of the operator's machine.
	Began metav1.MicroTime `json:"began"`
	Ended metav1.MicroTime `json:"ended"`

	// Message says in one line why the run failed. Message is empty for a run that succeeded.
	Message string `json:"message"`

	// Log is the end of what Pulumi printed: whole lines, without secrets and control characters. Log is empty if the run failed before
	// Pulumi began.
	Log string `json:"log"`
}

// Log holds the last runs of a Stack.
type Log struct {
	// Succeeded and Failed are the last run that succeeded and the last run that failed, or nil.
	Succeeded *Run `json:"succeeded,omitempty"`
	Failed    *Run `json:"failed,omitempty"`
}

// Last returns the last run, or nil.
func (l *Log) Last() *Run {
	if l.Succeeded == nil || l.Failed != nil && !l.Failed.Ended.Before(&l.Succeeded.Ended) {
		return l.Failed
	}
	return l.Succeeded
}

// From reads a StackLog. From leaves out the runs that ended before since, the creation of the Stack: they belong to an earlier Stack of
// the same name, whose log Kubernetes has not yet deleted.
func From(object map[string]any, since time.Time) (*Log, error) {
	log := &Log{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, log); err != nil {
		return nil, fmt.Errorf("read a %s: %w", Kind, err)
	}
	for _, run := range []**Run{&log.Succeeded, &log.Failed} {
		if *run != nil && (*run).Ended.Time.Before(since) {
			*run = nil
		}
	}
	return log, nil
}

// Write records a run in the StackLog of its Stack: one request, or two for the Stack's first run. The other run in the StackLog stays.
// The StackLog belongs to the Stack: Kubernetes deletes it after the Stack. to needs the permissions to patch and create StackLogs.
func Write(ctx context.Context, to client.Client, stack *v1.Stack, run Run) error {
	err := write(ctx, to, stack, run)
	if err != nil {
		return fmt.Errorf("write the log of Stack %s/%s: %w", stack.Namespace, stack.Name, err)
	}
	return nil
}

func write(ctx context.Context, to client.Client, stack *v1.Stack, run Run) error {
	field := "succeeded"
	if run.Message != "" {
		field = "failed"
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&run)
	if err != nil {
		return err
	}
	object := func() *unstructured.Unstructured {
		made := &unstructured.Unstructured{Object: map[string]any{field: content}}
		made.SetGroupVersionKind(schema.GroupVersionKind{Group: Group, Version: Version, Kind: Kind})
		made.SetNamespace(stack.Namespace)
		made.SetName(stack.Name)
		made.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: v1.GroupVersion.String(), Kind: v1.StackKind, Name: stack.Name, UID: stack.UID,
		}})
		return made
	}
	patch, err := object().MarshalJSON()
	if err != nil {
		return err
	}
	if err = to.Patch(ctx, object(), client.RawPatch(types.MergePatchType, patch)); apierrors.IsNotFound(err) {
		err = to.Create(ctx, object())
	}
	return err
}
