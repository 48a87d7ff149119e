package repositorycmd

import (
	"testing"

	"github.com/strata-platform/strata/internal/repository"
	"github.com/strata-platform/strata/test/docstest"
)

func TestDocumentedOutput(t *testing.T) {
	docstest.CheckJSON[created](t, "docs/reference/output.md", "init")
	docstest.CheckJSON[repository.Mirrored](t, "docs/reference/output.md", "mirror")
}
