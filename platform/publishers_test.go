package platform_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/strata-platform/strata/components/fluxcd"
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

// TestThePlatformComesFromSignedArtifacts names a registry as the platform's source, in a clone and in an organisation's repository.
func TestThePlatformComesFromSignedArtifacts(t *testing.T) {
	const key = "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEXRA3AuwLMT2Y1EbKYZi8C5ulUCmH\noVv6rOqgpwBPRDUE/vXw9J2flGrbN6BXi5vKd6IS+x+XNWWRNvUf9EyNcg==\n-----END PUBLIC KEY-----\n"
	const artifactType = "kubernetes:source.toolkit.fluxcd.io/v1:OCIRepository"
	verified := map[string]any{
		"spec.url": "oci://registry.example.com/platform/sync", "spec.ref.semver": "1.x", "spec.verify.provider": "cosign",
		"spec.verify.secretRef.name": "strata-publisher", "spec.provider": "generic",
	}
	for name, each := range map[string]struct {
		pins, source, sync string
		path, want         string
	}{
		"in a clone":         {"", "platform-source-repository", "platform-sync-kustomization", "spec.components[0]", "../artifact"},
		"of an organisation": {pinnedFile(t, pinnedCommit), "organisation-source-repository", "organisation-sync-kustomization", "spec.path", "./sync"},
	} {
		t.Run(name, func(t *testing.T) {
			engine := withCatalogue(t, func(c *platform.Config) {
				c.Target, c.StrataFile, c.PlatformPublishers = "local", each.pins, origins.Publishers{key}
				c.PlatformURL, c.PlatformVersions = "oci://registry.example.com/platform/sync", "1.x"
				c.PlatformUsername, c.PlatformPassword = "reader", "canary-platform"
			})
			if err := run(engine); err != nil {
				t.Fatal(err)
			}
			expect(t, engine.Get(t, artifactType, each.source), verified)
			expect(t, engine.Get(t, kustomizationType, each.sync), map[string]any{"spec.sourceRef.kind": "OCIRepository", each.path: each.want})
			// Flux applies the Program of the platform's own entry from the same artifact.
			expect(t, engine.Get(t, artifactType, entrySource), verified)
			// The rules for artifacts are there before the first artifact.
			for _, policy := range []string{"strata-platform-artifacts", "strata-platform-versions"} {
				made := engine.Get(t, "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy", policy)
				expect(t, made, map[string]any{"metadata.name": policy, "spec.failurePolicy": "Fail"})
				expect(t, engine.Get(t, "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding", policy+"-binding"), map[string]any{
					"metadata.name": policy, "spec.policyName": policy,
				})
				if !engine.Get(t, fluxcd.SourceType, strings.TrimSuffix(each.source, "-repository")).DependsOn(made) {
					t.Errorf("the source does not depend on %s", policy)
				}
			}
		})
	}
}
