package pull_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	reader "github.com/erofs/go-erofs"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/local/machine/images/pull"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

func puller(t testing.TB) pull.Puller {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.Reserve = 0
	return pull.Puller{Store: s}
}

// content reads a file in the EROFS file of a pulled image.
func content(t testing.TB, p pull.Puller, pulled pull.Pulled, path string) string {
	t.Helper()
	file, err := os.Open(p.Store.Image(pulled.Config))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	image, err := reader.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	found, err := fs.ReadFile(image, path)
	if err != nil {
		t.Fatal(err)
	}
	return string(found)
}

// leftovers lists unfinished files and references.
func leftovers(t testing.TB, p pull.Puller) []string {
	t.Helper()
	found, err := filepath.Glob(p.Store.Partial("*"))
	if err != nil {
		t.Fatal(err)
	}
	references, err := p.Store.References()
	if err != nil {
		t.Fatal(err)
	}
	for _, reference := range references {
		found = append(found, reference.Name)
	}
	return found
}

func TestImagesArePulledByTagAndByDigest(t *testing.T) {
	host := imagetest.Registry(t, nil)
	digest := imagetest.Push(t, host+"/team/app:1", imagetest.Image(t, imagetest.Files{"a": "1", "etc/b": "2"}, imagetest.Files{"a": "3"}))
	for name, reference := range map[string]string{"tag": host + "/team/app:1", "digest": host + "/team/app@" + digest.String()} {
		t.Run(name, func(t *testing.T) {
			p := puller(t)
			var last pull.Event
			pulled, err := p.Pull(t.Context(), reference, nil, func(e pull.Event) { last = e })
			if err != nil {
				t.Fatal(err)
			}
			if pulled.Name != reference || pulled.Manifest.Digest != digest {
				t.Errorf("the result is %+v", pulled)
			}
			if got := content(t, p, pulled, "a") + content(t, p, pulled, "etc/b"); got != "32" {
				t.Errorf("the files contain %q", got)
			}
			if last.Step != pull.Unpacking || last.Done != last.Total || last.Total == 0 || last.Reference != reference {
				t.Errorf("the last progress is %+v", last)
			}
			again, err := p.Get(t.Context(), reference, nil)
			if err != nil || again.Config != pulled.Config {
				t.Errorf("Get returns %+v (%v)", again, err)
			}
		})
	}
}

func TestADigestInTheStoreNeedsNoRegistry(t *testing.T) {
	var down atomic.Bool
	host := imagetest.Registry(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if down.Load() {
				http.Error(w, "down", http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	digest := imagetest.Push(t, host+"/app", imagetest.Image(t, imagetest.Files{"a": "1"}))
	p := puller(t)
	reference := host + "/app@" + digest.String()
	if _, err := p.Pull(t.Context(), reference, nil, nil); err != nil {
		t.Fatal(err)
	}
	down.Store(true)
	if _, err := p.Pull(t.Context(), reference, nil, nil); err != nil {
		t.Error(err)
	}
	if _, err := p.Pull(t.Context(), host+"/app", nil, nil); fault.Of(err) != fault.Unavailable {
		t.Errorf("the tag's error is %v", err)
	}
}

func TestAnIndexIsResolvedForThisMachine(t *testing.T) {
	host := imagetest.Registry(t, nil)
	image := imagetest.Image(t, imagetest.Files{"a": "mine"})
	other := imagetest.For(t, imagetest.Image(t, imagetest.Files{"a": "other"}), "s390x")
	add := func(image v1.Image, os, architecture string) mutate.IndexAddendum {
		return mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: os, Architecture: architecture}}}
	}
	push := func(tag string, index v1.ImageIndex) string {
		reference, err := name.ParseReference(host + "/app:" + tag)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.WriteIndex(reference, index); err != nil {
			t.Fatal(err)
		}
		return reference.Name()
	}
	both := push("both", mutate.AppendManifests(empty.Index, add(other, "linux", "s390x"), add(image, "linux", runtime.GOARCH)))
	p := puller(t)
	pulled, err := p.Pull(t.Context(), both, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := content(t, p, pulled, "a"); got != "mine" {
		t.Errorf("the image of %q was pulled", got)
	}
	imagetest.Push(t, host+"/app:single", other)
	for _, reference := range []string{push("other", mutate.AppendManifests(empty.Index, add(other, "linux", "s390x"), add(other, "unknown", "unknown"))), host + "/app:single"} {
		_, err = p.Pull(t.Context(), reference, nil, nil)
		found, ok := errors.AsType[*fault.Error](err)
		want := "linux/" + runtime.GOARCH
		if !ok || found.Kind != fault.Platform || found.Want != want || strings.Join(found.Have, ",") != "linux/s390x" ||
			!strings.Contains(err.Error(), "it has no variant for "+want+", only for linux/s390x") {
			t.Errorf("%s: the error is %v", reference, err)
		}
	}
}

func TestWrongReferencesAndMissingImagesHaveTheirKinds(t *testing.T) {
	host := imagetest.Registry(t, nil)
	imagetest.Push(t, host+"/app:1", imagetest.Image(t, imagetest.Files{"a": "1"}))
	p := puller(t)
	for reference, want := range map[string]fault.Kind{
		"UPPER CASE":       fault.InvalidName,
		"app@sha256:short": fault.InvalidName,
		"":                 fault.InvalidName,
		host + "/app:2":    fault.NotFound,
		host + "/none:1":   fault.NotFound,
		"127.0.0.1:1/app":  fault.Unavailable,
	} {
		_, err := p.Pull(t.Context(), reference, nil, nil)
		if fault.Of(err) != want || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want %s", reference, err, want)
		}
	}
	if _, err := p.Get(t.Context(), host+"/app:1", nil); fault.Of(err) != fault.NotFound {
		t.Errorf("Get of a missing image: %v", err)
	}
	if found := leftovers(t, p); len(found) > 0 {
		t.Errorf("the pulls left %v", found)
	}
}
