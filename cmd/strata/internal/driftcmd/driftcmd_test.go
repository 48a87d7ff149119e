package driftcmd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/drift"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/docstest"
)

func TestDocumentedDrift(t *testing.T) {
	docstest.CheckJSON[Result](t, "docs/reference/output.md", "drift")
}

func TestPrint(t *testing.T) {
	now := time.Unix(10_000, 0)
	before := now.Add(-90 * time.Second)
	hostile := v1.DriftedResource{Name: "a\x1b[2J\nb", Type: "t", Fields: []v1.DriftedField{{Path: "p\x1b", Wanted: "\u202e1", Found: "2"}}, More: 3}
	list := []drift.Stack{
		{Namespace: "team-web", Name: "calm", Checked: &before},
		{Namespace: "team-web", Name: "new", Problem: "it was not applied yet"},
		{Namespace: "team-web", Name: "cut", Problem: "no answer", Checked: &before},
		{Namespace: "team-web", Name: "shop", Checked: &before, More: 2, Resources: []v1.DriftedResource{{Name: "orders", Type: "gcp:sql:Database", Missing: true}, hostile}},
	}
	var out bytes.Buffer
	if err := Print(&out, list, now); err != nil {
		t.Fatal(err)
	}
	const want = `✓ team-web/calm  no drift, checked 1m30s ago
  team-web/new  not checked: it was not applied yet
✗ team-web/cut  the check failed: no answer, checked 1m30s ago
✗ team-web/shop  drifted, checked 1m30s ago
    orders (gcp:sql:Database): no longer exists
`
	text := out.String()
	if !strings.HasPrefix(text, want) || strings.ContainsAny(text, "\x1b\u202e") || strings.Count(text, "\n") != 8 || !strings.HasSuffix(text, "and 3 more fields\n    and 2 more resources\n") {
		t.Errorf("printed\n%s", text)
	}
	for want, list := range map[string][]drift.Stack{"1 of 4 Stacks have drifted": list, "the drift checks of 1 of 3 Stacks failed": list[:3], "": list[:2]} {
		if err := verdict(list); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("verdict %v, want %q", err, want)
		}
	}
}
