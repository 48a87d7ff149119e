package v1_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTheReferenceListsEveryReason compares the reasons of conditions with the table in the reference.
func TestTheReferenceListsEveryReason(t *testing.T) {
	source, err := os.ReadFile("conditions.go")
	if err != nil {
		t.Fatal(err)
	}
	reference, err := os.ReadFile("../../../docs/reference/stack.md")
	if err != nil {
		t.Fatal(err)
	}
	_, conditions, _ := strings.Cut(string(reference), "\n## Conditions\n")
	reasons := regexp.MustCompile(`(?m)^\t\w+Reason\s*= "(\w+)"$`).FindAllStringSubmatch(string(source), -1)
	if len(reasons) < 18 {
		t.Fatalf("conditions.go has %d reasons", len(reasons))
	}
	for _, reason := range reasons {
		if !strings.Contains(conditions, "| `"+reason[1]+"` |") {
			t.Errorf("docs/reference/stack.md does not list the reason %s", reason[1])
		}
	}
}
