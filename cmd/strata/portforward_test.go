package main

import (
	"testing"

	"github.com/strata-platform/strata/internal/forward"
	"github.com/strata-platform/strata/test/docstest"
)

func TestPortForwardPrintsTheDocumentedJSON(t *testing.T) {
	docstest.CheckJSON[forward.Result](t, "docs/reference/output.md", "forward")
}
