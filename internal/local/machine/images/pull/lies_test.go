package pull_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/local/machine/images/pull"
	"github.com/strata-platform/strata/internal/local/machine/images/unpack"
)

// rewrite lets a registry lie: edit changes the answers to GET requests.
func rewrite(edit func(path string, body []byte) []byte) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet {
				next.ServeHTTP(w, r)
				return
			}
			recorder := httptest.NewRecorder()
			next.ServeHTTP(recorder, r)
			body := edit(r.URL.Path, recorder.Body.Bytes())
			w.Header().Set("Content-Type", recorder.Header().Get("Content-Type"))
			w.WriteHeader(recorder.Code)
			_, _ = w.Write(body)
		})
	}
}

func TestLyingRegistriesAreRefusedAndNothingIsLeft(t *testing.T) {
	image := imagetest.Image(t, imagetest.Files{"a": imagetest.Noise(1, 1<<16)})
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	layer, config := manifest.Layers[0].Digest.String(), manifest.Config.Digest.String()
	flip := func(body []byte) []byte {
		changed := []byte(string(body))
		changed[len(changed)/2] ^= 1
		return changed
	}
	in := func(part string, edit func([]byte) []byte) func(string, []byte) []byte {
		return func(path string, body []byte) []byte {
			if strings.Contains(path, part) {
				return edit(body)
			}
			return body
		}
	}
	replaced := func(before, after string) func([]byte) []byte {
		return func(body []byte) []byte { return []byte(strings.ReplaceAll(string(body), before, after)) }
	}
	for name, c := range map[string]struct {
		edit      func(string, []byte) []byte
		reference string
		kind      fault.Kind
		want      string
	}{
		"another layer":            {in(layer, flip), ":1", fault.Corrupt, "has another digest"},
		"a longer layer":           {in(layer, func(b []byte) []byte { return append([]byte(string(b)), "more"...) }), ":1", fault.Corrupt, "has more than the"},
		"a shorter layer":          {in(layer, func(b []byte) []byte { return b[:len(b)/2] }), ":1", fault.Unavailable, "the registry "},
		"another configuration":    {in(config, flip), ":1", fault.Corrupt, "has another digest"},
		"another manifest":         {in("/manifests/", replaced(`"schemaVersion":2`, `"schemaVersion": 2`)), "@" + digest.String(), fault.Corrupt, "answers with the digest sha256:"},
		"no JSON":                  {in("/manifests/", func([]byte) []byte { return []byte("no JSON") }), ":1", fault.Corrupt, "its manifest cannot be decoded"},
		"a huge manifest":          {in("/manifests/", func([]byte) []byte { return make([]byte, 5<<20) }), ":1", fault.TooLarge, "its manifest has more than"},
		"a huge configuration":     {in("/manifests/", replaced(fmt.Sprintf(`"size":%d,"digest":"%s"`, manifest.Config.Size, config), fmt.Sprintf(`"size":99999999,"digest":"%s"`, config))), ":1", fault.TooLarge, "configuration has more than"},
		"a digest outside":         {in("/manifests/", replaced(layer, "sha256:../../../../etc/passwd")), ":1", fault.Corrupt, "its manifest cannot be decoded"},
		"a negative size":          {in("/manifests/", replaced(fmt.Sprintf(`"size":%d,"digest":"%s"`, manifest.Layers[0].Size, layer), fmt.Sprintf(`"size":-1,"digest":"%s"`, layer))), ":1", fault.Corrupt, "negative size"},
		"layers without a diff ID": {in("/manifests/", replaced(`"layers":[`, fmt.Sprintf(`"layers":[{"mediaType":"x","size":1,"digest":"%s"},`, layer))), ":1", fault.Corrupt, "different numbers of layers"},
	} {
		t.Run(name, func(t *testing.T) {
			lying := new(atomic.Bool)
			host := imagetest.Registry(t, rewrite(func(path string, body []byte) []byte {
				if lying.Load() {
					return c.edit(path, body)
				}
				return body
			}))
			imagetest.Push(t, host+"/app:1", image)
			lying.Store(true)
			p := puller(t)
			_, err := p.Pull(t.Context(), host+"/app"+c.reference, nil, nil)
			if fault.Of(err) != c.kind || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Fatalf("the error is %v, want %s: %q", err, c.kind, c.want)
			}
			if found := leftovers(t, p); len(found) > 0 && c.kind != fault.Unavailable {
				t.Errorf("the pull left %v", found)
			}
			// The registry is repaired: the next attempt succeeds.
			lying.Store(false)
			if _, err := p.Pull(t.Context(), host+"/app"+c.reference, nil, nil); err != nil {
				t.Errorf("the next attempt fails: %v", err)
			}
		})
	}
}

// TestAnInterruptedDownloadContinues lets the registry end each answer after 100 kB: the pull requests the rest.
func TestAnInterruptedDownloadContinues(t *testing.T) {
	const size, part = 1 << 20, 100_000
	image := imagetest.Image(t, imagetest.Files{"a": imagetest.Noise(1, size)})
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	layer, err := layers[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	compressed, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := io.ReadAll(compressed)
	if err != nil {
		t.Fatal(err)
	}
	var sent, requests atomic.Int64
	for name, ranges := range map[string]bool{"with ranges": true, "without ranges the download ends with an error": false} {
		t.Run(name, func(t *testing.T) {
			sent.Store(0)
			host := imagetest.Registry(t, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, layer.String()) {
						next.ServeHTTP(w, r)
						return
					}
					requests.Add(1)
					from := 0
					if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err == nil && ranges {
						w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(whole)-1, len(whole)))
						w.WriteHeader(http.StatusPartialContent)
					} else {
						from = 0
					}
					n, _ := w.Write(whole[from:min(from+part, len(whole))])
					sent.Add(int64(n))
				})
			})
			imagetest.Push(t, host+"/app", image)
			p := puller(t)
			var done int64
			pulled, err := p.Pull(t.Context(), host+"/app", nil, func(e pull.Event) {
				if e.Step == pull.Downloading {
					done = e.Done
				}
			})
			if !ranges {
				if fault.Of(err) != fault.Unavailable {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if sent.Load() != int64(len(whole)) || done != int64(len(whole)) {
				t.Errorf("the registry sent %d bytes, and the progress is %d, of %d", sent.Load(), done, len(whole))
			}
			if got := content(t, p, pulled, "a"); got != imagetest.Noise(1, size) {
				t.Error("the file differs")
			}
		})
	}
}

func TestADamagedPartIsDownloadedAgain(t *testing.T) {
	host := imagetest.Registry(t, nil)
	image := imagetest.Image(t, imagetest.Files{"a": imagetest.Noise(1, 1<<16)})
	imagetest.Push(t, host+"/app", image)
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, length := range []int64{1000, manifest.Layers[0].Size, manifest.Layers[0].Size + 1} {
		p := puller(t)
		if err := os.WriteFile(p.Store.Partial(manifest.Layers[0].Digest.Hex), make([]byte, length), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Pull(t.Context(), host+"/app", nil, nil); err != nil {
			t.Errorf("with a damaged part of %d bytes: %v", length, err)
		}
	}
}

func TestLimitsBoundAnImage(t *testing.T) {
	host := imagetest.Registry(t, nil)
	imagetest.Push(t, host+"/app", imagetest.Image(t, imagetest.Files{"a": strings.Repeat("0", 1<<20), "b": imagetest.Noise(1, 1<<16)}))
	for name, change := range map[string]func(*pull.Puller){
		"layers":   func(p *pull.Puller) { p.Compressed = 1 << 15 },
		"unpacked": func(p *pull.Puller) { p.Unpacked = unpack.Limits{Bytes: 1 << 19} },
		"entries":  func(p *pull.Puller) { p.Unpacked = unpack.Limits{Entries: 1} },
	} {
		p := puller(t)
		change(&p)
		_, err := p.Pull(t.Context(), host+"/app", nil, nil)
		if fault.Of(err) != fault.TooLarge || !strings.HasPrefix(fmt.Sprint(err), "image "+host+"/app:latest: ") {
			t.Errorf("%s: the error is %v", name, err)
		}
		if found := leftovers(t, p); len(found) > 0 {
			t.Errorf("%s: the pull left %v", name, found)
		}
	}
	p := puller(t)
	p.Store.Reserve = 1 << 60
	if _, err := p.Pull(t.Context(), host+"/app", nil, nil); fault.Of(err) != fault.NoSpace {
		t.Errorf("without space for the reserve the error is %v", err)
	}
	if _, stored := p.Store.Has(v1.Hash{Algorithm: "sha256"}); stored {
		t.Error("the store has a blob without a digest")
	}
}
