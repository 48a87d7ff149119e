package main

import (
	"testing"

	"github.com/strata-platform/strata/test/docstest"
)

func TestDocumentedLayerResult(t *testing.T) {
	docstest.CheckJSON[layerResult](t, "docs/reference/output.md", "layer")
}
