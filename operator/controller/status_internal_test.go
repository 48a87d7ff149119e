package controller

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/claims"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/lookup"
	"github.com/strata-platform/strata/operator/controller/origin"
	"github.com/strata-platform/strata/operator/controller/records"
	"github.com/strata-platform/strata/operator/controller/report"
	"github.com/strata-platform/strata/operator/controller/slots"
)

// reconciler returns a reconciler with these objects. reconciler calls onProgram when
// it reads a Program.
func reconciler(t *testing.T, onProgram func(client.Client) error, objects ...client.Object) (*stackReconciler, client.Client) {
	t.Helper()
	scheme := kruntime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1.Stack{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
				if _, ok := object.(*v1.Program); ok {
					return onProgram(c)
				}
				return c.Get(ctx, key, object, opts...)
			},
		}).Build()
	lookups := lookup.New(nil)
	return &stackReconciler{
		client: c, reader: c, events: report.NewEvents(events.NewFakeRecorder(100)),
		slots:   slots.New(1, 0, func(bool) bool { return true }, nil),
		lookups: lookups, origins: origin.NewFinder(c, lookups, nil), claims: claims.New(c, c),
		dependents: dependents.New(nil, logr.Discard(), nil), records: records.New(c, c, ""),
	}, c
}

// applied returns a Stack that was applied and has changed since.
func applied() *v1.Stack {
	stack := &v1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "shop", Generation: 1, Finalizers: []string{v1.StackFinalizer}}}
	stack.Spec.ProgramRef = &v1.ProgramReference{Name: "shop"}
	stack.Status.ObservedGeneration = 1
	stack.Status.LastUpdate = &v1.StackUpdateState{Generation: 1, State: v1.SucceededStackStateMessage}
	stack.Status.MarkReady("up succeeded")
	stack.Generation = 2
	return stack
}

func TestReadyOfAnOldGenerationDoesNotCount(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "stacks"}, "shop", errors.New("it has changed"))
	for name, failure := range map[string]error{
		"a conflict":                conflict,
		"the end of the operator":   context.Canceled,
		"what nobody has heard of":  errors.New("x"),
		"a server that takes a day": context.DeadlineExceeded,
	} {
		t.Run(name, func(t *testing.T) {
			key := client.ObjectKey{Namespace: "team", Name: "shop"}
			notReady := func(c client.Client, when string) {
				stack := &v1.Stack{}
				if err := c.Get(t.Context(), key, stack); err != nil {
					t.Fatal(err)
				}
				if stack.Status.ObservedGeneration != 2 || meta.IsStatusConditionTrue(stack.Status.Conditions, v1.ReadyCondition) ||
					!meta.IsStatusConditionTrue(stack.Status.Conditions, v1.ReconcilingCondition) {
					t.Errorf("%s: generation %d is seen, and the conditions are %+v", when, stack.Status.ObservedGeneration, stack.Status.Conditions)
				}
			}
			asked := false
			r, c := reconciler(t, func(c client.Client) error {
				asked = true
				notReady(c, "before the work")
				return failure
			}, applied())
			defer r.lookups.Close()
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err == nil || !asked {
				t.Errorf("asked %v, error %v; want one that is logged, counted and tried again", asked, err)
			}
			notReady(c, "after it")
		})
	}
}

func TestErrorIsReturnedAndReported(t *testing.T) {
	long := errors.New("the server says " + strings.Repeat("x", 100_000))
	r, c := reconciler(t, func(client.Client) error { return long }, applied())
	defer r.lookups.Close()
	key := client.ObjectKey{Namespace: "team", Name: "shop"}
	result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
	if err == nil || !errors.Is(err, long) || len(err.Error()) > report.LongestNote+3 || result != (reconcile.Result{}) {
		t.Errorf("result %+v and an error of %d bytes, want the error alone, short", result, len(err.Error()))
	}
	stack := &v1.Stack{}
	if err := c.Get(t.Context(), key, stack); err != nil {
		t.Fatal(err)
	}
	ready := meta.FindStatusCondition(stack.Status.Conditions, v1.ReadyCondition)
	if !strings.Contains(ready.Message, "the server says") || len(ready.Message) > report.LongestMessage+3 {
		t.Errorf("the condition says %d bytes: %.100s", len(ready.Message), ready.Message)
	}
}
