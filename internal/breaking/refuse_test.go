package breaking_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/internal/breaking"
)

func TestAKindThatWouldBeDeletedBreaksAllOfItsOrders(t *testing.T) {
	start(t)
	kind, plural := thing()
	before := entry(t, kind, plural, "")
	offer(t, before)
	if change, changed := changeOf(t, kind); !changed || len(change.Broken) > 0 {
		t.Errorf("without orders, the change is %+v", change)
	}
	if err := apply(t, before, "first", "", false); err != nil {
		t.Fatal(err)
	}
	change, _ := changeOf(t, kind)
	if err := breaking.Refuse([]breaking.Change{change}); err == nil || !strings.Contains(err.Error(), " team-web/first: teams.yaml no longer offers "+kind) {
		t.Errorf("without the entry: %v", err)
	}
	change, _ = changeOf(t, kind, entry(t, kind, "thingies", ""))
	if err := breaking.Refuse([]breaking.Change{change}); err == nil || !strings.Contains(err.Error(), "names.plural changes from "+plural+" to thingies, so the kind would be deleted with its orders") {
		t.Errorf("with another plural: %v", err)
	}
	if _, changed := changeOf(t, kind, before); changed {
		t.Error("the same entry is a change")
	}
}

func TestTheRefusalNamesTheOrdersInOneLineAndIsBounded(t *testing.T) {
	start(t)
	kind, plural := thing()
	before := entry(t, kind, plural, size(text, ""))
	offer(t, before)
	// A team chooses the values of its orders, and the length of a value.
	hostile := `spec: {size: "\u001b[2J\nnothing broke` + strings.Repeat("x", 5000) + `"}`
	const orders = 23
	for n := range orders {
		if err := apply(t, before, fmt.Sprintf("o%02d", n), hostile, false); err != nil {
			t.Fatal(err)
		}
	}
	change, _ := changeOf(t, kind, entry(t, kind, plural, size("type: string, enum: [a]", "")))
	err := breaking.Refuse([]breaking.Change{change})
	if err == nil {
		t.Fatal("the change is not refused")
	}
	said := err.Error()
	for _, want := range []string{"nothing was changed", " team-web/o00: spec.size", "team-web/o19", "| and 3 more:", "catalogue/NAME/entry.yaml", "`strata catalogue lint`"} {
		if !strings.Contains(said, want) {
			t.Errorf("the error does not say %q:\n%s", want, said)
		}
	}
	if strings.ContainsAny(said, "\n\x1b") || strings.Contains(said, "o20") || len(said) > 10000 {
		t.Errorf("the error has %d bytes, is more than a line, or names too many orders:\n%q", len(said), said)
	}
}

func TestAnOrderThatIsBeingDeletedBreaksForNoValue(t *testing.T) {
	start(t)
	kind, plural := thing()
	before := entry(t, kind, plural, size(text, ""))
	offer(t, before)
	held := order(t, before, "held", "spec: {size: a}")
	held.SetFinalizers([]string{"example.com/held"})
	if err := server.Create(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	if err := server.Delete(t.Context(), held); err != nil {
		t.Fatal(err)
	}
	change, _ := changeOf(t, kind, entry(t, kind, plural, ""))
	if len(change.Broken) > 0 || len(change.Breaking) == 0 {
		t.Errorf("the change is %+v", change)
	}
	if err := server.Get(t.Context(), keyOf(held), held); err != nil {
		t.Fatal(err)
	}
	held.SetFinalizers(nil)
	if err := server.Update(t.Context(), held); err != nil {
		t.Fatal(err)
	}
}

func TestAClusterWithoutACatalogueIsNotCompared(t *testing.T) {
	start(t)
	changes, err := breaking.Find(t.Context(), server.config, failing)
	until(t, "the kinds of the other tests are gone", func() bool {
		changes, err = breaking.Find(t.Context(), server.config, failing)
		return err == nil
	})
	if len(changes) > 0 {
		t.Errorf("the changes are %+v", changes)
	}
}

func failing() ([]*catalogue.Entry, error) { return nil, errors.New("the entries were read") }

func keyOf(object client.Object) client.ObjectKey { return client.ObjectKeyFromObject(object) }
