package conformance

import (
	"context"
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/conformance/internal/observe"
)

// find returns an object as the API server has it now.
func (s *scene) find(of kind, name string) (*unstructured.Unstructured, error) {
	object, err := s.of(of).Get(s.ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", of.kind, name, err)
	}
	return object, nil
}

// absent returns an error unless an object does not exist.
func (s *scene) absent(of kind, name string) error {
	_, err := s.find(of, name)
	if err == nil {
		return fmt.Errorf("%s %s exists", of.kind, name)
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// until waits until an object is as wanted, and returns it. want receives nil if the object does not exist. The error of a wait
// that took too long shows the last object by describe.
func (s *suite) until(
	ctx context.Context, of kind, name, what string, want func(*unstructured.Unstructured) bool, describe func(*unstructured.Unstructured) string,
) (*unstructured.Unstructured, error) {
	bounded, cancel := context.WithTimeout(ctx, s.Wait)
	defer cancel()
	this := fields.OneTermEqualSelector("metadata.name", name).String()
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = this
			return s.of(of).List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = this
			return s.of(of).Watch(ctx, o)
		},
	}
	var last *unstructured.Unstructured
	missing := func(store cache.Store) (bool, error) { return len(store.ListKeys()) == 0 && want(nil), nil }
	_, err := watchtools.UntilWithSync(bounded, source, &unstructured.Unstructured{}, missing, func(event watch.Event) (bool, error) {
		last, _ = event.Object.(*unstructured.Unstructured)
		if event.Type == watch.Deleted {
			last = nil
		}
		return want(last), nil
	})
	switch {
	case err == nil:
		return last, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	seen := "it does not exist"
	if last != nil {
		seen = describe(last)
	}
	return nil, fmt.Errorf("%s %s is not %s after %s: %s", of.kind, name, what, s.Wait, seen)
}

// await waits until a Stack is as wanted.
func (s *scene) await(name, what string, want func(*v1.Stack) bool) (*v1.Stack, error) {
	return s.awaitIn(s.ctx, name, what, want)
}

func (s *suite) awaitIn(ctx context.Context, name, what string, want func(*v1.Stack) bool) (*v1.Stack, error) {
	shown := func(object *unstructured.Unstructured) string { return observe.Describe(observe.Stack(object)) }
	found, err := s.until(ctx, stacks, name, what, func(object *unstructured.Unstructured) bool { return want(observe.Stack(object)) }, shown)
	return observe.Stack(found), err
}

// kstatus returns what kstatus calls a Stack.
func (s *scene) kstatus(name string) (status.Status, error) {
	object, err := s.find(stacks, name)
	if err != nil {
		return "", err
	}
	result, err := status.Compute(object)
	if err != nil {
		return "", fmt.Errorf("kstatus of Stack %s: %w", name, err)
	}
	return result.Status, nil
}
