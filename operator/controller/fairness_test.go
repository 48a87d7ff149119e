package controller_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller"
)

// began returns when a Stack's last update began, in milliseconds.
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
		return strings.Contains(condition(s, v1.ReconcilingCondition).Message, "waits for one of the runs") || ready(s)
	})
	few.apply(t, &v1.Stack{}, valuesHead+valuesEnv)
	other := began(t, few.await(t, "values", "Ready", ready))
	before := 0
	for _, name := range names {
		if began(t, many.await(t, name, "Ready", ready)) < other {
			before++
		}
	}
	// One ran as the other team's came, and one may have got the slot meanwhile.
	if before > 3 {
		t.Errorf("%d of %d Stacks ran before that of another team", before, count)
	}
}
