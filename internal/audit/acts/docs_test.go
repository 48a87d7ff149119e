package acts_test

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/audit/acts"
	"github.com/strata-platform/strata/test/docstest"
)

const page = "docs/reference/audit.md"

func TestTheCatalogueIsDocumented(t *testing.T) {
	want := "| area | act | in | refused because | may |\n|---|---|---|---|---|\n"
	seen := map[string]bool{}
	for _, entry := range acts.Catalogue() {
		if seen[entry.ID] {
			t.Errorf("two acts have the ID %s", entry.ID)
		}
		seen[entry.ID] = true
		var may []string
		for _, class := range entry.May {
			may = append(may, string(class))
		}
		want += "| " + strings.Join([]string{string(entry.Area), entry.What, entry.In, entry.Why, strings.Join(may, ", ")}, " | ") + " |\n"
	}
	_, rest, _ := strings.Cut(docstest.Read(t, page), "<!-- acts -->\n")
	if got, _, _ := strings.Cut(rest, "<!-- end of acts -->"); got != want {
		t.Errorf("between the marks %s should have\n%s", page, want)
	}
}
