package cause

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const page = "../../../docs/reference/status.md"

// rows returns the rows of the table with the given header.
func rows(t *testing.T, header string) []string {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(raw), "\n"+header+"\n|---|---|\n")
	if !found {
		t.Fatalf("%s has no table %s", page, header)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	return strings.Split(strings.TrimSpace(table), "\n")
}

func TestTheDocumentedRulesAreComplete(t *testing.T) {
	var want []string
	for _, r := range rules() {
		of := strings.Join(r.kinds, ", ")
		if r.kinds == nil {
			of = "all"
		}
		want = append(want, fmt.Sprintf("| %s | %s |", of, r.because))
	}
	if got := rows(t, "| of | rule |"); !slices.Equal(got, want) {
		t.Errorf("the table of rules should be\n%s", strings.Join(want, "\n"))
	}
}

func TestTheDocumentedCausesAreComplete(t *testing.T) {
	documented := rows(t, "| cause | what to do |")
	for i, e := range explanations() {
		if i >= len(documented) || !strings.HasPrefix(documented[i], "| "+e.cause+" | ") {
			t.Errorf("row %d of the causes should begin with %q", i+1, e.cause)
		}
	}
	if len(documented) != len(explanations()) {
		t.Errorf("%d causes are documented, want %d", len(documented), len(explanations()))
	}
}
