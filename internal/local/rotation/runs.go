package rotation

import (
	"context"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/strata-platform/strata/internal/lifecycle"
)

var stacks = schema.GroupVersionResource{Group: "pulumi.com", Version: "v1", Resource: "stacks"}

// runPoll is the interval between two looks at the runs of Stacks.
const runPoll = time.Second

// lookPatience is how long looks may fail one after the other.
const lookPatience = 20 * time.Second

// awaitRuns waits until the runs of a namespace's Stacks that are active now have ended. The operator's limit of a run bounds the wait.
func (r Rotation) awaitRuns(ctx context.Context, namespace string) error {
	config, err := r.Local.Config(ctx, false)
	if err != nil || config == nil {
		return err
	}
	client, err := dynamic.NewForConfig(lifecycle.Brief(config))
	if err != nil {
		return err
	}
	active := func() (map[string]bool, error) {
		list, err := client.Resource(stacks).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list the Stacks of namespace %s: %w", namespace, err)
		}
		runs := map[string]bool{}
		for _, stack := range list.Items {
			if name, _, _ := unstructured.NestedString(stack.Object, "status", "currentUpdate", "name"); name != "" {
				runs[name] = true
			}
		}
		return runs, nil
	}
	return awaitEnd(ctx, active)
}

// awaitEnd waits until the runs of the first look have ended. A look may fail for a short time, such as while the API server restarts.
func awaitEnd(ctx context.Context, look func() (map[string]bool, error)) error {
	var first map[string]bool
	good := time.Now()
	for {
		switch now, err := look(); {
		case err != nil && (ctx.Err() != nil || time.Since(good) >= lookPatience):
			return err
		case err != nil:
		case first == nil:
			first, good = now, time.Now()
		default:
			maps.DeleteFunc(first, func(name string, _ bool) bool { return !now[name] })
			good = time.Now()
		}
		if first != nil && len(first) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(runPoll):
		}
	}
}
