package rotation

import (
	"context"
	"fmt"
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
	first, err := active()
	for len(first) > 0 && err == nil {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(runPoll):
		}
		var now map[string]bool
		now, err = active()
		for name := range first {
			if !now[name] {
				delete(first, name)
			}
		}
	}
	return err
}
