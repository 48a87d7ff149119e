package platform_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/platform"
)

const pinnedCommit = "0123456789abcdef0123456789abcdef01234567"

// pinnedFile writes a strata.yaml and returns its path.
func pinnedFile(t *testing.T, commit string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "strata.yaml")
	content := "apiVersion: strata/v1\nkind: Repository\nstrata: v0.3.0\nsync: {url: 'https://git.example.com:8443/strata', commit: '" + commit + "'}\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAnOrganisationsRepositoryPinsStratasPart(t *testing.T) {
	for name, each := range map[string]struct {
		edit func(*platform.Config)
		url  string
	}{
		"from the repository in the file": {func(*platform.Config) {}, "https://git.example.com:8443/strata"},
		"from another one": {func(c *platform.Config) {
			c.StrataURL, c.StrataUsername, c.StrataPassword = "https://mirror.example.com/strata.git", "reader", "canary-strata"
		}, "https://mirror.example.com/strata.git"},
	} {
		t.Run(name, func(t *testing.T) {
			engine := below(t, func(c *platform.Config) {
				c.StrataFile = pinnedFile(t, pinnedCommit)
				each.edit(c)
			})
			if err := run(engine); err != nil {
				t.Fatal(err)
			}
			expect(t, engine.Get(t, sourceType, "platform-source-repository"), map[string]any{
				"spec.url": each.url, "spec.ref.commit": pinnedCommit, "spec.ref.branch": "sync/v0.3.0",
			})
			expect(t, engine.Get(t, kustomizationType, "platform-sync-kustomization"), map[string]any{
				"spec.path": "./sync/clusters/gke", "spec.serviceAccountName": "platform", "spec.sourceRef.name": "platform",
			})
			expect(t, engine.Get(t, sourceType, "organisation-source-repository"), map[string]any{
				"spec.url": "https://git.example.com/platform.git", "spec.ref.branch": "main",
			})
			expect(t, engine.Get(t, kustomizationType, "organisation-sync-kustomization"), map[string]any{
				"spec.path": "./sync", "spec.serviceAccountName": "platform", "metadata.namespace": "platform",
			})
		})
	}
}

func TestRefusedPinsOfStratasPart(t *testing.T) {
	for name, each := range map[string]struct {
		edit func(*platform.Config)
		want string
	}{
		"a branch in place of a commit": {func(c *platform.Config) { c.StrataFile = pinnedFile(t, "main") }, `sync.commit is "main"`},
		"a file that does not exist":    {func(c *platform.Config) { c.StrataFile = "/nowhere/strata.yaml" }, "read the pins"},
		"a repository without a commit": {func(c *platform.Config) { c.StrataURL = "https://git.example.com/strata" }, "strataUrl and its login need strataFile"},
		"a login in the address": {func(c *platform.Config) {
			c.StrataFile, c.StrataURL = pinnedFile(t, pinnedCommit), "https://a:canary@b"
		}, "strataUrl contains a login"},
		"the login that writes the fleet": {func(c *platform.Config) {
			c.StrataFile, c.StrataUsername, c.StrataPassword = pinnedFile(t, pinnedCommit), "flux", "canary-push"
		}, "strataPassword is the login that writes the fleet repository"},
	} {
		t.Run(name, func(t *testing.T) {
			engine := below(t, each.edit)
			err := run(engine)
			if err == nil || !strings.Contains(err.Error(), each.want) || strings.Contains(err.Error(), "canary") {
				t.Errorf("the error is %v, want %q and no password", err, each.want)
			}
			if made := engine.All(); len(made) > 0 {
				t.Errorf("the layer created %d resources", len(made))
			}
		})
	}
}
