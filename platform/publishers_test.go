package platform_test

import (
	"encoding/base64"
	"testing"

	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/platform/origins"
)

// TestThePlatformRepositoryIsVerified gives the platform repository a publisher, in a clone and in an organisation's repository.
func TestThePlatformRepositoryIsVerified(t *testing.T) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2Z5AFsJ0SgCJFmDfDbXmGvLyz4VHvwZr7N1S1Wf6bX"
	encoded := base64.StdEncoding.EncodeToString([]byte(key))
	verified := map[string]any{
		"spec.url": "https://git.example.com/platform.git", "spec.verify.mode": "HEAD", "spec.verify.secretRef.name": "strata-publisher",
	}
	for name, each := range map[string]struct {
		pins   string
		source string
	}{
		"in a clone": {"", "platform-source-repository"}, "of an organisation": {pinnedFile(t, pinnedCommit), "organisation-source-repository"},
	} {
		t.Run(name, func(t *testing.T) {
			engine := withCatalogue(t, func(c *platform.Config) {
				c.Target, c.StrataFile, c.PlatformPublishers = "local", each.pins, origins.Publishers{key}
			})
			if err := run(engine); err != nil {
				t.Fatal(err)
			}
			expect(t, engine.Get(t, sourceType, each.source), verified)
			// Flux applies the Program of the platform's own entry from the same repository.
			expect(t, engine.Get(t, sourceType, entrySource), verified)
			expect(t, engine.Get(t, "kubernetes:core/v1:Secret", "platform-publisher"), map[string]any{
				"metadata.namespace": "platform", "metadata.name": "strata-publisher", "data": map[string]any{"publisher-0.sshpub": encoded},
			})
			expect(t, engine.Get(t, policyType, "team-catalogue-database-policy"), map[string]any{"spec.verify": "HEAD"})
		})
	}
}
