package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/strata-platform/strata/cmd/strata/internal/render"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/test/docstest"
)

func TestDocumentedLayerResult(t *testing.T) {
	docstest.CheckJSON[layerResult](t, "docs/reference/output.md", "layer")
}

func TestDocumentedUpResult(t *testing.T) {
	docstest.CheckJSON[render.UpResult](t, "docs/reference/output.md", "up")
}

func TestAPreviewStartsNothingWhileAnotherCommandHoldsTheLock(t *testing.T) {
	_, dir := newClone(t)
	h := opened(t, dir)
	release, err := h.AcquireChange()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	var out bytes.Buffer
	if code := run(t.Context(), []string{"layer", "preview", "bootstrap"}, streams{out: &out, err: &out}); code != 1 || !strings.Contains(out.String(), home.ErrLocked.Error()) {
		t.Errorf("the exit code is %d:\n%s", code, out.String())
	}
	if _, err := os.Stat(h.Log("supervisor")); err == nil {
		t.Error("the preview has started a supervisor")
	}
}
