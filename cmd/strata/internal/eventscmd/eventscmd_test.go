package eventscmd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/events"
	"github.com/strata-platform/strata/test/docstest"
)

func TestDocumentedEvents(t *testing.T) {
	docstest.CheckJSON[Result](t, "docs/reference/output.md", "events")
}

func TestAHostileEventIsOneHarmlessLine(t *testing.T) {
	var out bytes.Buffer
	list := []events.Event{{
		Time: time.Unix(0, 0), Count: 3, Namespace: "team-web", Kind: "Pod", Name: "a\x1b[2J", Warning: true,
		Reason: "Bad\nReason", Message: "first\nsecond\x1b]0;root\x07" + strings.Repeat("x", 5000),
	}}
	if err := Print(&out, list); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if strings.Count(text, "\n") != 1 || strings.ContainsAny(text, "\x1b\x07") || len(text) > 1000 || !strings.Contains(text, ` ! team-web Pod/a\x1b[2J Bad Reason: first second`) || !strings.HasSuffix(text, " (3 times)\n") {
		t.Errorf("printed %q", text)
	}
}
