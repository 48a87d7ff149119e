package events

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine/bounds"
	"github.com/strata-platform/strata/operator/engine/message"
)

// TestManyDeletionsDoNotHideALoss plans the deletion of thousands of harmless resources and then of a database: a caller that asks
// whether the plan loses data must see the last step.
func TestManyDeletionsDoNotHideALoss(t *testing.T) {
	step := func(op, kind, name string) string {
		return fmt.Sprintf(`{"resourcePreEvent":{"metadata":{"op":%q,"urn":"urn:pulumi:dev::shop::%s::%s","type":%[2]q}}}`+"\n", op, kind, name)
	}
	var lines strings.Builder
	for i := range mostDestroyed + 10 {
		lines.WriteString(step("delete", "random:index/randomId:RandomId", fmt.Sprint(i)))
	}
	lines.WriteString(step("create", "random:index/randomId:RandomId", "new"))
	lines.WriteString(step("delete", "gcp:sql/database:Database", "orders"))
	log := NewLog(message.NewMask())
	log.OfPreview()
	if err := log.Read(strings.NewReader(lines.String())); err != nil {
		t.Fatal(err)
	}
	got := log.Plan()
	if last := got.Steps[len(got.Steps)-1]; last.Name != "orders" || len(got.Steps) != mostDestroyed+1 || got.More != 11 || got.Changes["delete"] != mostDestroyed+11 {
		t.Errorf("the last of %d steps is %+v, and %d more; the changes are %v", len(got.Steps), last, got.More, got.Changes)
	}
}

// TestADeletionForAReplacementIsNoSecret reads what Pulumi announces when it deletes a database without a step "delete" or "replace" of its
// own: before the replacement of a resource that the database depends on, if the commit also removes the database from the program; and
// after an earlier replacement whose deletion has failed.
func TestADeletionForAReplacementIsNoSecret(t *testing.T) {
	step := func(op, kind, name, id string) string {
		return fmt.Sprintf(`{"resourcePreEvent":{"metadata":{"op":%q,"urn":"urn:pulumi:dev::shop::%s::%s","type":%[2]q,"old":{"id":%[4]q}}}}`+"\n", op, kind, name, id)
	}
	const database, random = "gcp:sql/database:Database", "random:index/randomId:RandomId"
	for name, test := range map[string]struct {
		events []string
		want   string
	}{
		"of a resource that is replaced": {
			[]string{step("create-replacement", database, "orders", "a"), step("replace", database, "orders", "a"), step("delete-replaced", database, "orders", "a")},
			"replace orders",
		},
		"of a resource that is deleted first": {
			[]string{step("delete-replaced", database, "orders", "a"), step("replace", database, "orders", "a"), step("create-replacement", database, "orders", "a")},
			"replace orders",
		},
		"of a resource that the program no longer contains": {
			[]string{
				step("delete-replaced", database, "orders", "a"), step("delete-replaced", random, "name", "x"), step("replace", random, "name", "x"),
				step("create-replacement", random, "name", "x"),
			},
			"replace name, delete orders",
		},
		"that an earlier run has left": {[]string{step("same", database, "orders", "b"), step("delete-replaced", database, "orders", "a")}, "delete orders"},
		"that an earlier run has left, beside another replacement": {
			[]string{step("replace", database, "orders", "b"), step("delete-replaced", database, "orders", "b"), step("delete-replaced", database, "orders", "a")},
			"replace orders, delete orders",
		},
		"of a provider": {[]string{step("delete-replaced", "pulumi:providers:gcp", "google", "a")}, ""},
	} {
		log := NewLog(message.NewMask())
		log.OfPreview()
		if err := log.Read(strings.NewReader(strings.Join(test.events, ""))); err != nil {
			t.Fatal(err)
		}
		var steps []string
		for _, each := range log.Plan().Steps {
			steps = append(steps, each.Op+" "+each.Name)
		}
		if got := strings.Join(steps, ", "); got != test.want || len(log.Plan().Steps) != len(steps) {
			t.Errorf("a deletion %s: the steps are %q, want %q", name, got, test.want)
		}
	}
}

func TestReplacementsHaveABound(t *testing.T) {
	lines := make([]string, mostReplaced+1)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"resourcePreEvent":{"metadata":{"op":"delete-replaced","urn":"urn:pulumi:dev::shop::a:b:C::%d","type":"a:b:C"}}}`, i)
	}
	log := NewLog(message.NewMask())
	log.OfPreview()
	if over := bounds.As(log.Read(strings.NewReader(strings.Join(lines, "\n")))); over == nil {
		t.Error("a preview may replace any number of resources")
	}
}
