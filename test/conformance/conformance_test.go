package conformance_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/strata-platform/strata/test/conformance"
	"github.com/strata-platform/strata/test/docstest"
)

func TestReadmeListsEveryStatement(t *testing.T) {
	var table strings.Builder
	table.WriteString("| name | contract | what must hold |\n|---|---|---|\n")
	seen := map[string]bool{}
	for _, s := range conformance.Statements() {
		if seen[s.Name] {
			t.Errorf("two statements are named %s", s.Name)
		}
		seen[s.Name] = true
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", s.Name, s.Contract, s.Must)
	}
	if !strings.Contains(docstest.Read(t, "test/conformance/README.md"), table.String()+"\n") {
		t.Errorf("test/conformance/README.md does not contain this table:\n%s", table.String())
	}
}
