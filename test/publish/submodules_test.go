package publish

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/test/long"
)

// submodule points the folder parts of the clone to a commit of the branch parts of the same repository.
func (c *clone) submodule(commit string) {
	c.t.Helper()
	modules := "[submodule \"parts\"]\n\tpath = parts\n\turl = ../web.git\n"
	if err := os.WriteFile(filepath.Join(c.dir, ".gitmodules"), []byte(modules), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.git("", "update-index", "--add", "--cacheinfo", "160000,"+commit+",parts")
}

// commitPart commits a file to the branch parts, and pushes it.
func (c *clone) commitPart(content string) string {
	c.t.Helper()
	blob := c.git(content, "hash-object", "-w", "--stdin")
	commit := c.git("", "commit-tree", "-m", content, c.git("100644 blob "+blob+"\tpart.yaml\n", "mktree"))
	c.push(commit + ":refs/heads/parts")
	return commit
}

// file returns a file of the artifact of a source.
func file(t *testing.T, source *unstructured.Unstructured, name string) string {
	t.Helper()
	url, _, _ := unstructured.NestedString(source.Object, "status", "artifact", "url")
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	unpacked, err := gzip.NewReader(response.Body)
	if err != nil {
		t.Fatalf("%s: %s: %v", url, response.Status, err)
	}
	for files := tar.NewReader(unpacked); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			t.Fatalf("the artifact has no %s", name)
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Name != name {
			continue
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
}

func TestSubmodulesAreThoseOfTheSignedCommit(t *testing.T) {
	long.Test(t)
	s, c := newSite(t), newClone(t)
	anna := newOpenPGPKey(t)
	s.trust(t, anna)
	c.submodule(c.commitPart("part: 1"))
	first := c.commitIndex("a: 1", anna)
	c.push("main")
	source := s.followGit(t, c, map[string]any{
		"ref": map[string]any{"branch": "main"}, "recurseSubmodules": true,
		"verify": map[string]any{"mode": "HEAD", "secretRef": map[string]any{"name": keys}},
	})
	s.until(t, source, "a signed commit is offered", func() bool { return revision(source) == "main@sha1:"+first })
	if got := file(t, source, "parts/part.yaml"); got != "part: 1" {
		t.Errorf("the submodule contains %q", got)
	}
	// The branch of the submodule moves, and an unsigned commit follows it.
	c.submodule(c.commitPart("part: forged"))
	forged := c.commitIndex("a: forged", nil)
	c.push("main")
	s.notify(t, source)
	s.until(t, source, "an unsigned commit is refused", func() bool { return strings.HasPrefix(s.says(t), "NotSigned: commit "+forged[:8]+" has no signature") })
	if got := file(t, source, "parts/part.yaml"); got != "part: 1" {
		t.Errorf("the submodule contains %q", got)
	}
}

// TestSourceControllerFetchesSubmodulesOfTheDefaultBranch records a fault of source-controller v1.9. teams.yaml refuses submodules of
// tags for that reason. If the test fails after an update of Flux, the fault is gone: correct package teams,
// docs/decisions/0039-published-artifacts.md and docs/hops.md.
func TestSourceControllerFetchesSubmodulesOfTheDefaultBranch(t *testing.T) {
	long.Test(t)
	s, c := newSite(t), newClone(t)
	anna := newOpenPGPKey(t)
	s.trust(t, anna)
	c.submodule(c.commitPart("part: 1"))
	first := c.commitIndex("a: 1", anna)
	c.tag("v1.0.0", first, anna)
	c.push("main", "v1.0.0")
	c.submodule(c.commitPart("part: forged"))
	c.commitIndex("a: forged", nil)
	c.push("main")
	source := s.followGit(t, c, map[string]any{
		"ref": map[string]any{"semver": "1.x"}, "recurseSubmodules": true,
		"verify": map[string]any{"mode": "TagAndHEAD", "secretRef": map[string]any{"name": keys}},
	})
	s.until(t, source, "a signed tag is offered", func() bool { return revision(source) == "v1.0.0@sha1:"+first })
	if got := file(t, source, "parts/part.yaml"); got != "part: forged" {
		t.Errorf("the submodule contains %q", got)
	}
}

// commitIndex commits the index and the file .gitmodules to main, signed by a key if it is not nil, and returns the commit's ID.
func (c *clone) commitIndex(message string, key *openpgp.Entity) string {
	c.t.Helper()
	c.git("", "add", ".gitmodules")
	c.git("", "commit", "--quiet", "--message="+message)
	return c.sign(key)
}
