package lifecycle

import (
	"strings"
	"testing"
)

func TestTheDescriptionNamesNoEntryOfTheCatalogueAsATeam(t *testing.T) {
	target := newTestTarget(t, map[string]string{
		"/api/v1/namespaces":         `{"kind": "NamespaceList", "apiVersion": "v1", "items": []}`,
		"/apis/pulumi.com/v1/stacks": `{"kind": "StackList", "apiVersion": "pulumi.com/v1", "items": []}`,
	})
	lines, err := (&Platform{Target: target}).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "a Google identity for each team (web)") || strings.Contains(text, "catalogue-database") {
		t.Errorf("the description is\n%s", text)
	}
}
