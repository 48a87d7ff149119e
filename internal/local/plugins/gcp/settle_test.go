package gcp_test

import (
	"testing"

	"github.com/strata-platform/strata/internal/local/plugins/gcp"
	"github.com/strata-platform/strata/operator/engine/settle"
)

// TestAnInterruptedCreationOfEveryTypeIsSettled looks for types whose ID forms package settle does not have. A destroy would
// leave their objects behind.
func TestAnInterruptedCreationOfEveryTypeIsSettled(t *testing.T) {
	inputs := map[string]any{}
	for _, name := range []string{
		"accountId", "bucket", "cluster", "cryptoKeyId", "host", "instance", "location", "member", "name", "project", "role", "roleId", "service",
		"serviceAccountId",
	} {
		inputs[name] = "x"
	}
	for typ := range gcp.Package().Resources {
		// Only the service knows the ID of a key. The layers delete lost keys by a search.
		undetermined := typ == "gcp:serviceaccount/key:Key"
		if id := settle.ID(typ, inputs, "p"); (id == "") != undetermined {
			t.Errorf("%s has the ID %q", typ, id)
		}
	}
}
