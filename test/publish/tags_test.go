package publish

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/teams"
	"github.com/strata-platform/strata/test/docstest"
	"github.com/strata-platform/strata/test/long"
)

// TestFluxAppliesOnlySignedTagsOfTheRange attacks a source with the login of the Git server, and without the key.
func TestFluxAppliesOnlySignedTagsOfTheRange(t *testing.T) {
	long.Test(t)
	s, c := newSite(t), newClone(t)
	s.policies(t)
	anna, mallory := newOpenPGPKey(t), newOpenPGPKey(t)
	s.trust(t, anna)
	first := c.commit("a: 1", anna)
	c.push("main")
	source := s.followGit(t, c, map[string]any{
		"ref": map[string]any{"semver": "1.x"}, "verify": map[string]any{"mode": "TagAndHEAD", "secretRef": map[string]any{"name": keys}},
	})
	// says waits until strata status says a text, and the source offers a revision.
	says := func(what, text, offered string) {
		t.Helper()
		s.notify(t, source)
		said := ""
		s.until(t, source, what, func() bool {
			if now := s.says(t); now != said {
				said = now
				t.Logf("%s: %s", what, said)
			}
			return strings.HasPrefix(said, text) && (text == "") == (said == "")
		})
		if got := revision(source); got != offered {
			t.Fatalf("%s: Flux offers %s, want %s", what, got, offered)
		}
	}
	says("a repository without tags", "NothingPublished: the repository contains no tag in the range 1.x", "")

	c.tag("v2.0.0", first, anna)
	c.push("v2.0.0")
	says("a signed tag outside of the range", "NothingPublished: the repository contains no tag in the range 1.x", "")

	c.tag("v1.0.0", first, anna)
	c.push("v1.0.0")
	one := "v1.0.0@sha1:" + first
	s.notify(t, source)
	s.until(t, source, "a signed tag is offered", func() bool { return revision(source) == one })
	says("a signed tag", "", one)
	keeps := "; v1.0.0@" + first[:8] + " keeps running"

	second := c.commit("a: 2", anna)
	c.git("", "tag", "v1.1.0")
	c.push("main", "v1.1.0")
	says("a tag without a signature", "NotSigned: tag v1.1.0 has no signature"+keeps, one)

	c.tag("v1.1.0", second, mallory)
	c.push("v1.1.0")
	says("a tag with another signature", "NotSigned: tag v1.1.0 has a signature, but not of a publisher"+keeps, one)

	third := c.commit("a: 3", nil)
	c.tag("v1.1.0", third, anna)
	c.push("main", "v1.1.0")
	says("a signed tag of an unsigned commit", "NotSigned: commit "+third[:8]+" has no signature"+keeps, one)

	c.tag("v1.2.0", second, anna)
	c.push("v1.2.0")
	two := "v1.2.0@sha1:" + second
	s.notify(t, source)
	s.until(t, source, "a higher signed tag is offered", func() bool { return revision(source) == two })
	says("a higher signed tag", "", two)

	// The signature of a tag contains its name. source-controller does not compare the names.
	c.push("v1.0.0:refs/tags/v1.9.0")
	says("a signed tag under another name", "RolledBack: the repository offers v1.9.0@"+first[:8], two)
	c.push(":refs/tags/v1.9.0", ":refs/tags/v1.2.0", ":refs/tags/v1.1.0")
	says("an older signed tag", "RolledBack: the repository offers v1.0.0@"+first[:8], two)

	c.push("v1.2.0")
	s.notify(t, source)
	s.until(t, source, "the source is well after the attacks", func() bool { return s.says(t) == "" })
	fourth := c.commit("a: 4", anna)
	c.tag("v1.3.0", fourth, anna)
	c.push("main", "v1.3.0")
	s.notify(t, source)
	s.until(t, source, "a higher signed tag is offered after the attacks", func() bool { return revision(source) == "v1.3.0@sha1:"+fourth })
}

// TestTheDocumentedSignatureIsAccepted runs the block of the page for app teams with a new SSH key.
func TestTheDocumentedSignatureIsAccepted(t *testing.T) {
	long.Test(t)
	keygen, err := exec.LookPath("ssh-keygen")
	if err != nil {
		t.Skip("ssh-keygen is missing, with which git signs: install OpenSSH's client")
	}
	script := ""
	for _, block := range docstest.Blocks(t, "docs/app-team.md") {
		if block.Language == "sh" && block.Name == "signed" {
			script += block.Text
		}
	}
	if script == "" {
		t.Fatal("the page has no block about signatures")
	}
	s, c := newSite(t), newClone(t)
	s.policies(t)
	home := t.TempDir()
	private := filepath.Join(home, ".ssh", "id_ed25519")
	if err := os.Mkdir(filepath.Dir(private), 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), keygen, "-q", "-t", "ed25519", "-N", "", "-f", private).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	public, err := os.ReadFile(private + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: keys, Namespace: namespace},
		Data:       map[string][]byte{"publisher-0" + teams.KeySuffix(string(public)): public},
	}); err != nil {
		t.Fatal(err)
	}
	c.commit("a: 1", nil)
	if err := os.WriteFile(filepath.Join(c.dir, "config.yaml"), []byte("a: 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	c.shell(script)
	source := s.followGit(t, c, map[string]any{
		"ref": map[string]any{"semver": "1.x"}, "verify": map[string]any{"mode": "TagAndHEAD", "secretRef": map[string]any{"name": keys}},
	})
	head := c.git("", "rev-parse", "HEAD")
	s.until(t, source, "the signed tag is offered", func() bool { return revision(source) == "v1.1.0@sha1:"+head })
}
