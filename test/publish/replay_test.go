package publish

import (
	"path/filepath"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/signing"
	"github.com/strata-platform/strata/test/long"
)

// TestSourceControllerAcceptsTheSignatureOfAnotherArtifact records a fault of source-controller v1.9, for which the registry of a
// home has a check of its own. If the test fails after an update of Flux, the fault is gone: correct
// docs/decisions/0039-published-artifacts.md, docs/security.md and docs/platform-team.md.
func TestSourceControllerAcceptsTheSignatureOfAnotherArtifact(t *testing.T) {
	long.Test(t)
	s := newSite(t)
	s.host = imagetest.Registry(t, nil)
	first := s.publish(t, "a: 1", "", s.key)
	source := s.follow(t, "web", func(spec map[string]any) { delete(spec, "secretRef") })
	s.until(t, source, "a signed artifact is offered", func() bool { return revision(source) == first.Version+"@"+first.Digest })
	other, err := signing.EnsureKey("another key", filepath.Join(t.TempDir(), "other.key"))
	if err != nil {
		t.Fatal(err)
	}
	forged := s.publish(t, "a: forged", "", other)
	if err := s.copyTag(t, signature(first.Digest), signature(forged.Digest)); err != nil {
		t.Fatal(err)
	}
	s.until(t, source, "a forged artifact is offered", func() bool { return revision(source) == forged.Version+"@"+forged.Digest })
}
