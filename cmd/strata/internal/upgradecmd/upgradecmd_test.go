package upgradecmd

import (
	"testing"

	"github.com/strata-platform/strata/test/docstest"
)

func TestDocumentedOutput(t *testing.T) {
	docstest.CheckJSON[Result](t, "docs/reference/output.md", "upgrade")
}
