package publish

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/local/machine/images/registry"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// home starts the registry of a home.
func home(t *testing.T) string {
	t.Helper()
	kept, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	all := func(string) bool { return true }
	server := registry.New(kept, "registry.strata.local", 1<<30, func(string, string) (registry.Grant, bool) {
		return registry.Grant{Pull: all, Push: all}, true
	})
	t.Cleanup(server.Close)
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	return strings.TrimPrefix(listening.URL, "http://")
}

// holds fails the test unless the registry contains a result under its version.
func holds(t *testing.T, o Options, result Result) {
	t.Helper()
	repository, err := name.NewRepository(o.Repository, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	found, err := remote.Head(repository.Tag(result.Version))
	if err != nil || found.Digest.String() != result.Digest {
		t.Errorf("version %s is %v, %v, want %s", result.Version, found, err, result.Digest)
	}
}

func TestJobsThatPublishAtTheSameTimeGetVersionsOfTheirOwn(t *testing.T) {
	const jobs = 4
	o := options(t, "")
	o.Repository = home(t) + "/team-web/deploy"
	var all sync.WaitGroup
	results := make([]Result, jobs)
	for i := range jobs {
		own := o
		own.Dir = tree(t, map[string]string{"a.yaml": fmt.Sprint(i)})
		all.Go(func() {
			var err error
			if results[i], err = Publish(t.Context(), own); err != nil {
				t.Errorf("job %d: %v", i, err)
			}
		})
	}
	all.Wait()
	for _, result := range results {
		holds(t, o, result)
	}
}

// intruder lets another publication take version 0.0.1, before or after the publication of the test pushes it.
type intruder struct {
	http.Handler
	// immutable makes the registry refuse to replace a tag, with the answer of Amazon's.
	immutable bool
	// before and after take the version around the first push of the tag.
	before, after func(host string)
	seen          bool
}

func (i *intruder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPut || !strings.HasSuffix(r.URL.Path, "/manifests/0.0.1") || i.seen {
		i.Handler.ServeHTTP(w, r)
		return
	}
	i.seen = true
	if i.before != nil {
		i.before(r.Host)
	}
	if i.immutable {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"errors": [{"code": "TAG_INVALID", "message": "The image tag '0.0.1' already exists and cannot be overwritten because the repository is immutable."}]}`)
		return
	}
	answer := httptest.NewRecorder()
	i.Handler.ServeHTTP(answer, r)
	if i.after != nil {
		i.after(r.Host)
	}
	w.WriteHeader(answer.Code)
	_, _ = io.Copy(w, bytes.NewReader(answer.Body.Bytes()))
}

// TestAVersionThatAnotherPublicationTakesIsNotReported covers registries other than the home's.
func TestAVersionThatAnotherPublicationTakesIsNotReported(t *testing.T) {
	var other v1.Hash
	take := func(host string) {
		other = imagetest.Push(t, host+"/team-web/deploy:0.0.1", imagetest.Image(t, imagetest.Files{"a": "other"}))
	}
	for name, c := range map[string]struct {
		intruder intruder
		version  string
		want     string
		says     string
	}{
		"the registry has immutable tags":              {intruder{before: take, immutable: true}, "", "0.0.2", ""},
		"the registry replaces tags":                   {intruder{after: take}, "", "0.0.2", ""},
		"the version is the user's":                    {intruder{after: take}, "0.0.1", "", "version 0.0.1 exists with other content"},
		"the registry refuses a tag that nobody takes": {intruder{immutable: true}, "", "", "the registry answers 400"},
	} {
		t.Run(name, func(t *testing.T) {
			host := imagetest.Registry(t, func(next http.Handler) http.Handler {
				c.intruder.Handler = next
				return &c.intruder
			})
			o := Options{
				Dir: tree(t, map[string]string{"a.yaml": "1"}), Repository: host + "/team-web/deploy", Insecure: true,
				Login: authn.Anonymous, Key: newKey(t), Version: c.version,
			}
			result, err := Publish(t.Context(), o)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("the error is %v, want %q", err, c.says)
				}
				return
			}
			if err != nil || result.Version != c.want {
				t.Fatalf("the version is %q, %v, want %s", result.Version, err, c.want)
			}
			holds(t, o, result)
			holds(t, o, Result{Version: "0.0.1", Digest: other.String()})
		})
	}
}
