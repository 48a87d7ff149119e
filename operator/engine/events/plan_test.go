package events

import (
	"fmt"
	"strings"
	"testing"

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
