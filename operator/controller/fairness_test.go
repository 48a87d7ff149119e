package controller_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller"
	"github.com/strata-platform/strata/test/long"
)

// began returns the start of a Stack's last update, in Unix milliseconds.
func began(t *testing.T, stack *v1.Stack) int64 {
	t.Helper()
	name := stack.Status.LastUpdate.Name
	at, err := strconv.ParseInt(name[strings.LastIndexByte(name, '-')+1:], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestTeamWithManyStacksLeavesRoomForAnother(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperatorWith(t, c, func(opts *controller.Options) { opts.MaxConcurrent = 1 })
	many, few := newTeam(t, c), newTeam(t, c)
	const count = 6
	many.apply(t, &v1.Program{}, values)
	few.apply(t, &v1.Program{}, values)
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprint("values-", i)
		many.apply(t, &v1.Stack{}, strings.ReplaceAll(strings.ReplaceAll(valuesHead, "name: values}\nspec", "name: "+names[i]+"}\nspec"), "stack: dev", "stack: dev"+fmt.Sprint(i))+valuesEnv)
	}
	many.await(t, names[count-1], "waiting for a slot", func(s *v1.Stack) bool {
		return strings.Contains(condition(s, v1.ReconcilingCondition).Message, "waits until another run ends") || ready(s)
	})
	few.apply(t, &v1.Stack{}, valuesHead+valuesEnv)
	other := began(t, few.await(t, "values", "Ready", ready))
	before := 0
	for _, name := range names {
		if began(t, many.await(t, name, "Ready", ready)) < other {
			before++
		}
	}
	// One run was active when the other team's Stack was created, and another may have got
	// the slot in the meantime.
	if before > 3 {
		t.Errorf("%d of %d Stacks ran before that of another team", before, count)
	}
}

// endless is a Program that creates a ConfigMap and waits for something that never
// happens.
const endless = `
metadata: {name: values}
program:
  resources:
    settings:
      type: kubernetes:core/v1:ConfigMap
      properties:
        metadata:
          annotations: {pulumi.com/waitFor: "jsonpath={.data.never}=true", pulumi.com/timeoutSeconds: "3600", pulumi.com/deletionPropagationPolicy: background}
`

// numbered returns a numbered Stack of the Program values.
func numbered(number int) string {
	head := strings.Replace(valuesHead, "name: values}\nspec", fmt.Sprintf("name: values-%d}\nspec", number), 1)
	return strings.Replace(head, "stack: dev", fmt.Sprint("stack: dev", number), 1) + valuesEnv
}

// TestHostileTeamDelaysNoOther lets one team take all slots with endless runs. More of
// its Stacks wait, one is deleted, and all of them are requested again and again.
// Meanwhile another team pushes a change.
func TestHostileTeamDelaysNoOther(t *testing.T) {
	long.Test(t)
	const count, slots = 12, 2
	c := startCluster(t)
	startOperatorWith(t, c, func(opts *controller.Options) { opts.MaxConcurrent = slots })
	hostile, other := newTeam(t, c), newTeam(t, c)
	hostile.apply(t, &v1.Program{}, endless)
	for i := range count {
		hostile.apply(t, &v1.Stack{}, numbered(i)+"  destroyOnFinalize: true\n")
	}
	running := func() (names []string) {
		var stacks v1.StackList
		if err := c.List(t.Context(), &stacks, client.InNamespace(hostile.namespace)); err != nil {
			t.Fatal(err)
		}
		for i := range stacks.Items {
			if stacks.Items[i].Status.CurrentUpdate != nil {
				names = append(names, stacks.Items[i].Name)
			}
		}
		return names
	}
	hostile.awaitAny(t, "all slots", func() bool { return len(running()) == slots })
	before := running()
	hostile.remove(t, &v1.Stack{ObjectMeta: hostile.meta(fmt.Sprint("values-", count-1))})
	stop := hostile.pushForEver(t, count)

	other.apply(t, &v1.Program{}, values)
	for i := range 3 {
		other.apply(t, &v1.Stack{}, numbered(i))
	}
	for i := range 3 {
		other.await(t, fmt.Sprint("values-", i), "Ready", ready)
	}
	if pushes := stop(); pushes == 0 {
		t.Error("the attack did not go on meanwhile")
	}
	after := running()
	for _, name := range before {
		if !slices.Contains(after, name) {
			t.Errorf("the run of %s ended: nobody was held up: %s", name, hostile.await(t, name, "there", func(s *v1.Stack) bool { return s != nil }).Status.LastUpdate.Message)
		}
	}
}

// awaitAny waits until want returns true. awaitAny calls want at each change of a
// Stack.
func (tm *team) awaitAny(t *testing.T, what string, want func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	watch, err := tm.Watch(ctx, &v1.StackList{}, client.InNamespace(tm.namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for !want() {
		if _, ok := <-watch.ResultChan(); !ok {
			t.Fatalf("the team does not have %s", what)
		}
	}
}

// pushForEver requests runs of all Stacks of the team, again and again, until the
// caller calls stop. The function stop returns how often it did so.
func (tm *team) pushForEver(t *testing.T, count int) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	pushed := make(chan int)
	go func() {
		pushes := 0
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for ; ctx.Err() == nil; pushes++ {
			<-tick.C
			patch := fmt.Sprintf(`{"spec":{"config":{"push":%d}}}`, pushes)
			stack := &v1.Stack{ObjectMeta: tm.meta(fmt.Sprint("values-", pushes%count))}
			// Some Stacks may be deleted by now.
			_ = tm.Patch(ctx, stack, client.RawPatch(types.MergePatchType, []byte(patch)))
		}
		pushed <- pushes
	}()
	return sync.OnceValue(func() int {
		cancel()
		return <-pushed
	})
}

func TestRunEndsAtTheTimeLimitOfItsTeam(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperatorWith(t, c, func(opts *controller.Options) { opts.RunTimeout = 2 * time.Second })
	c.installKind(t, "strata.dev", "TenantPolicy", "tenantpolicies")
	for name, test := range map[string]struct{ policy, want string }{
		"by the platform": {
			"{team: web, contact: platform@example.com, runTimeout: 3s}",
			"took longer than 3s, the limit of team web (runTimeout in teams.yaml; ask platform@example.com for more)",
		},
		"by the operator, where the platform says nothing": {"{team: web}", "took longer than 2s, the operator's limit (--run-timeout)"},
		"by the operator, where there is no policy":        {"", "took longer than 2s, the operator's limit (--run-timeout)"},
		"not by what is no time":                           {"{team: web, contact: them, runTimeout: soon}", `spec.runTimeout "soon" is not a duration, such as 15m: ask them to correct it`},
	} {
		t.Run(name, func(t *testing.T) {
			tm := newTeam(t, c)
			if test.policy != "" {
				tm.policy(t, test.policy)
			}
			tm.apply(t, &v1.Program{}, endless)
			tm.apply(t, &v1.Stack{}, numbered(0))
			tm.await(t, "values-0", "stopped", func(s *v1.Stack) bool {
				return strings.Contains(condition(s, v1.ReadyCondition).Message, test.want)
			})
		})
	}
}
