package status_test

import (
	"testing"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/test/docstest"
)

func TestTheDocumentedJSONIsWhatIsPrinted(t *testing.T) {
	docstest.CheckJSON[status.Report](t, "docs/reference/status.md", "status")
}
