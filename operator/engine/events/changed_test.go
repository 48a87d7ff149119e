package events

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine/message"
)

func TestChangesNameTheResourcesOfALog(t *testing.T) {
	step := func(op, kind, name, before, after string) string {
		return fmt.Sprintf(`{"resOutputsEvent":{"metadata":{"op":%q,"urn":"urn:pulumi:dev::shop::%s::%s","type":%q,"old":%s,"new":%s}}}`+"\n", op, kind, name, kind, before, after)
	}
	of := func(id string) string { return fmt.Sprintf(`{"id":%q,"outputs":{}}`, id) }
	log := NewLog(message.NewMask())
	text := step("create", "gcp:sql/database:Database", "orders", "null", of("projects/p/instances/i/databases/orders")) +
		step("same", "gcp:sql/user:User", "web", of("web"), of("web")) +
		step("delete", "kubernetes:core/v1:Secret", "sql", of("team-web/sql"), "null") +
		step("create", "random:index/randomString:RandomString", "token", "null", of("a-secret-value")) +
		step("create", "pulumi:providers:gcp", "default", "null", of("x")) + step("create", "pulumi:pulumi:Stack", "shop-dev", "null", of("x")) +
		strings.Repeat(step("update", "gcp:sql/user:User", "u", of("u"), of("u")), mostChanged)
	if err := log.Read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	found, more := log.Changed()
	if len(found) != mostChanged || more != 3 {
		t.Fatalf("the log has %d changes and %d more", len(found), more)
	}
	want := []Change{
		{Op: "create", Name: "orders", Type: "gcp:sql/database:Database", ID: "projects/p/instances/i/databases/orders"},
		{Op: "delete", Name: "sql", Type: "kubernetes:core/v1:Secret", ID: "team-web/sql"},
		{Op: "create", Name: "token", Type: "random:index/randomString:RandomString"},
	}
	for i, each := range want {
		if found[i] != each {
			t.Errorf("change %d is %+v; want %+v", i, found[i], each)
		}
	}
}
