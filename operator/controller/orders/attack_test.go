package orders_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/long"
)

func TestTheAPIServerRefusesTheOrder(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	namespace := c.team(t, "names", 1)
	const rule = "the name of an order is at most 30 lower-case letters, digits and single hyphens, and begins with a letter"
	for name, test := range map[string]struct{ name, spec, want string }{
		"whose name has two hyphens": {"a--b", "{}", rule},
		"whose name has a dot":       {"a.b", "{}", rule},
		"whose name begins with one": {"1a", "{}", rule},
		"whose name is too long":     {strings.Repeat("a", 31), "{}", rule},
		"of an unknown engine":       {"a", "{engine: postgres}", `supported values: "mysql"`},
		"of an unknown onDelete":     {"a", "{onDelete: maybe}", `supported values: "keep", "delete"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.tryOrder(t, namespace, test.name, test.spec); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestTwoTeamsWhoseNamesMeetGetTwoDatabases(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	c.start(t)
	c.order(t, c.team(t, "x", 1), "y-z", "{}")
	c.order(t, c.team(t, "x-y", 1), "z", "{}")
	one, other := c.stack(t, "x--y-z"), c.stack(t, "x-y--z")
	for _, key := range []string{"name", "results"} {
		if string(one.Spec.Config[key].Raw) == string(other.Spec.Config[key].Raw) {
			t.Errorf("both have the %s %s", key, one.Spec.Config[key].Raw)
		}
	}
}

func TestAnOrderCannotSetTheNames(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	c.start(t)
	order, err := c.tryOrder(t, c.team(t, "taker", 1), "a", "{name: shop_orders, team: shop, results: shop--orders, instance: other}")
	if err != nil {
		t.Fatal(err)
	}
	if spec, _, _ := unstructured.NestedMap(order.Object, "spec"); spec["name"] != nil {
		t.Errorf("the API server keeps spec.name: %v", spec)
	}
	stack := c.stack(t, "taker--a")
	if got := string(stack.Spec.Config["name"].Raw); got != `"taker_a"` {
		t.Errorf("the name is %s", got)
	}
	if _, is := stack.Spec.Config["instance"]; is {
		t.Error("the order sets the instance")
	}
}

func TestAnOrderIsStalledWithoutAStack(t *testing.T) {
	long.Test(t)
	for name, test := range map[string]struct {
		team, order string
		limit       int
		want        string
	}{
		"if the names are too long together": {"a-team-of-twenty-five-chars", "seven-7", 5, "at most 31 are possible"},
		"if the team may have no orders":     {"none", "a", 0, "team none may have 0 orders of kind Database, and already has as many: delete one, or ask platform@example.com for a higher limit"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.start(t)
			order := c.order(t, c.team(t, test.team, test.limit), test.order, "{}")
			c.says(t, order, "False", test.want)
			c.noStack(t, test.team+"--"+test.order)
		})
	}
}

func TestOnlyTheOldestOrdersOfATeamCount(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	c.start(t)
	namespace := c.team(t, "many", 2)
	first := c.order(t, namespace, "a", "{}")
	c.order(t, namespace, "b", "{}")
	third := c.order(t, namespace, "c", "{}")
	c.stack(t, "many--a")
	c.stack(t, "many--b")
	c.says(t, third, "False", "may have 2 orders")
	c.noStack(t, "many--c")
	if err := c.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	c.stack(t, "many--c")
}

// noStack fails the test if the entry has a Stack of a name.
func (c *cluster) noStack(t *testing.T, name string) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: entryNamespace, Name: name}, &v1.Stack{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("Stack %s exists (error %v)", name, err)
	}
}

func TestAnOrderOutsideOfATeamIsNotHandled(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	c.start(t)
	c.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}})
	c.bind(t, "elsewhere", "strata:operator-tenant", "strata:operator-orders")
	order := c.order(t, "elsewhere", "a", "{}")
	c.says(t, order, "False", "the namespace elsewhere belongs to no team")
	c.noStack(t, "elsewhere--a")
}

func TestASecretOfTheTeamIsNotReplaced(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	c.start(t)
	namespace := c.team(t, "squat", 1)
	own := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a-database"}, StringData: map[string]string{"mine": "yes"}}
	c.create(t, own)
	order := c.order(t, namespace, "a", "{}")
	c.succeed(t, c.stack(t, "squat--a"), "canary")
	c.says(t, order, "False", "Secret a-database in team-squat has the name of the results and does not belong to this order: delete it, or order under another name")
	now := &corev1.Secret{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(own), now); err != nil || string(now.Data["mine"]) != "yes" || len(now.Data) != 1 {
		t.Fatalf("the team's Secret has the keys of another (error %v)", err)
	}
	if err := c.Delete(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	c.says(t, order, "True", "the results are in Secret a-database")
}

func TestAnOrderWithoutItsFinalizerLeavesNoStack(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	c.start(t)
	order := c.order(t, c.team(t, "bypass", 1), "a", "{onDelete: delete}")
	stack := c.stack(t, "bypass--a")
	c.drop(t, order)
	c.gone(t, stack)
}

func TestADeletedStackOfAnOrderComesBack(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	c.start(t)
	c.order(t, c.team(t, "back", 1), "a", "{}")
	stack := c.stack(t, "back--a")
	if err := c.Delete(t.Context(), stack); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a new Stack", func(ctx context.Context) error {
		now := &v1.Stack{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(stack), now); err != nil || now.UID != stack.UID {
			return err
		}
		return errors.New("the old Stack is still there")
	})
}

func TestAStackOfThePlatformTeamIsNotReplaced(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	other := &v1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: entryNamespace, Name: "own--a"}, Spec: v1.StackSpec{Stack: "platform"}}
	c.create(t, other)
	c.start(t)
	order := c.order(t, c.team(t, "own", 1), "a", "{}")
	c.says(t, order, "False", "the platform has a Stack own--a that does not belong to this order: ask platform@example.com to delete it")
	if now := c.stack(t, "own--a"); now.Spec.Stack != "platform" {
		t.Errorf("the Stack is now %s", now.Spec.Stack)
	}
}
