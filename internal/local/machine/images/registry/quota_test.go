package registry_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
)

const (
	// quota has room for one image of noise, but not for two.
	quota = 64 << 10
	noise = 40 << 10
)

// noisy returns an image whose layer compression does not shrink.
func noisy(t *testing.T, seed uint64) v1.Image {
	t.Helper()
	return imagetest.Image(t, imagetest.Files{"noise": imagetest.Noise(seed, noise)})
}

// blob returns content that compression does not shrink, and the query of its digest.
func blob(seed uint64) (content []byte, query string) {
	content = []byte(imagetest.Noise(seed, noise))
	return content, fmt.Sprintf("?digest=sha256:%x", sha256.Sum256(content))
}

func TestAnAccountStoresNoMoreThanItsQuota(t *testing.T) {
	host, s := startedWith(t, quota)
	first := noisy(t, 1)
	digest := imagetest.Push(t, host+"/web/app:1", first, as("web"))
	for name, c := range map[string]struct {
		tag   string
		image v1.Image
		as    string
		want  string
	}{
		"a second image in the same repository": {"/web/app:2", noisy(t, 2), "web", "would take more than its quota of 65536 bytes: remove images"},
		"a second image in another repository":  {"/web/other:1", noisy(t, 2), "web", "DENIED"},
		"manifests count":                       {"/web/app:3", mutate.Annotations(first, map[string]string{"a": imagetest.Noise(3, noise)}).(v1.Image), "web", "DENIED"},
		"the same image under another tag":      {"/web/app:4", first, "web", ""},
		"another account has its own quota":     {"/shop/app:1", noisy(t, 2), "shop", ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := remote.Write(reference(t, host+c.tag), c.image, as(c.as))
			if (err == nil) != (c.want == "") || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
	for _, reference := range []string{"/web/app:1", "/web/app:4", "/web/app@" + digest.String()} {
		if err := s.Forget(t.Context(), host+reference); err != nil {
			t.Fatal(err)
		}
	}
	imagetest.Push(t, host+"/web/app:2", noisy(t, 2), as("web"))
}

func TestUploadsAtTheSameTimeShareTheQuota(t *testing.T) {
	host, s := startedWith(t, quota)
	content, query := blob(1)
	begin := func() string {
		begun, text := request(t, http.MethodPost, "http://"+host+"/v2/web/app/blobs/uploads/", "", nil)
		if begun.StatusCode != http.StatusAccepted {
			t.Fatalf("POST answers %s: %s", begun.Status, text)
		}
		return "http://" + host + begun.Header.Get("Location")
	}
	send := func(method, at string, body []byte, want int) {
		t.Helper()
		if got, text := request(t, method, at, "", body); got.StatusCode != want {
			t.Fatalf("%s answers %s: %s, want %d", method, got.Status, text, want)
		}
	}
	first, second := begin(), begin()
	send(http.MethodPatch, first, content, http.StatusAccepted)
	send(http.MethodPatch, second, content, http.StatusForbidden)
	send(http.MethodPatch, second, nil, http.StatusNotFound) // the refusal ended it
	if left, err := filepath.Glob(s.Partial("*")); err != nil || len(left) != 1 {
		t.Errorf("the unfinished files are %v (%v), want that of the first upload", left, err)
	}
	send(http.MethodPut, first+query, nil, http.StatusCreated)
	// The blob, which no manifest names, counts.
	third := begin()
	send(http.MethodPatch, third, content, http.StatusForbidden)
	// So does what becomes complete during an upload.
	host, s = startedWith(t, quota)
	fourth := begin()
	send(http.MethodPatch, fourth, content, http.StatusAccepted)
	imagetest.Push(t, host+"/web/app:1", noisy(t, 2), as("public"))
	send(http.MethodPut, fourth+query, nil, http.StatusForbidden)
	if _, err := os.Stat(filepath.Join(s.Dir(), "blobs", strings.Replace(strings.TrimPrefix(query, "?digest="), ":", "/", 1))); !os.IsNotExist(err) {
		t.Errorf("the refused blob is in the store: %v", err)
	}
}

// TestAnAccountHasNoMoreNamesThanItsLimit pushes what takes hardly any space.
func TestAnAccountHasNoMoreNamesThanItsLimit(t *testing.T) {
	host, s := started(t)
	image := noisy(t, 1)
	push := func(tag, account string) error {
		return remote.Write(reference(t, host+"/"+account+"/app:"+tag), image, as(account))
	}
	for i := range names - 1 { // The image's digest is a name, too.
		if err := push(fmt.Sprint(i), "web"); err != nil {
			t.Fatalf("tag %d: %v", i, err)
		}
	}
	if err := push("more", "web"); err == nil || !strings.Contains(err.Error(), "have 12 tags and digests, of at most 12: remove images") {
		t.Errorf("a tag beyond the limit: %v", err)
	}
	if err := push("1", "shop"); err != nil {
		t.Errorf("another account: %v", err)
	}
	if err := s.Forget(t.Context(), host+"/web/app:0", host+"/web/app:1"); err != nil {
		t.Fatal(err)
	}
	if err := push("more", "web"); err != nil {
		t.Errorf("after tags were removed: %v", err)
	}
}

func TestAnAccountUploadsNoMoreBlobsWithoutAManifestThanItsLimit(t *testing.T) {
	host, s := started(t)
	upload := func(i int) (answer, string) {
		content := fmt.Sprint("blob ", i)
		return request(t, http.MethodPost, fmt.Sprintf("http://%s/v2/web/app/blobs/uploads/?digest=sha256:%x", host, sha256.Sum256([]byte(content))), "", []byte(content))
	}
	for i := range names {
		if got, text := upload(i); got.StatusCode != http.StatusCreated {
			t.Fatalf("blob %d: %s: %s", i, got.Status, text)
		}
	}
	got, text := upload(names)
	if got.StatusCode != http.StatusTooManyRequests || !strings.Contains(text, "has uploaded 12 blobs that no manifest names") {
		t.Errorf("a blob beyond the limit: %s: %s", got.Status, text)
	}
	if stored, err := filepath.Glob(filepath.Join(s.Dir(), "blobs", "sha256", "*")); err != nil || len(stored) != names {
		t.Errorf("the store has %d blobs (%v), want %d", len(stored), err, names)
	}
}
