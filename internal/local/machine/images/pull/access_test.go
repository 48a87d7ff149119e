package pull_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// guarded wants a user and a password, and repeats wrong ones in its answer.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user == "me" && password == "right" {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"errors":[{"code":"UNAUTHORIZED","message":"wrong password ` + password + `"}]}`))
	})
}

type keychain struct{ user, password string }

func (k keychain) Resolve(authn.Resource) (authn.Authenticator, error) {
	return &authn.Basic{Username: k.user, Password: k.password}, nil
}

func TestCredentialsAreUsedAndNeverInErrors(t *testing.T) {
	host := imagetest.Registry(t, guarded)
	imagetest.Push(t, host+"/app", imagetest.Image(t, imagetest.Files{"a": "1"}), remote.WithAuth(&authn.Basic{Username: "me", Password: "right"}))
	p := puller(t)
	for _, chain := range []authn.Keychain{nil, keychain{"me", "hunter2"}} {
		_, err := p.Pull(t.Context(), host+"/app", chain, nil)
		if fault.Of(err) != fault.Denied || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "imagePullSecret") {
			t.Errorf("the error is %v", err)
		}
	}
	if _, err := p.Pull(t.Context(), host+"/app", keychain{"me", "right"}, nil); err != nil {
		t.Error(err)
	}
}

func TestConcurrentPullsDownloadEachLayerOnce(t *testing.T) {
	var mutex sync.Mutex
	downloads := map[string]int{}
	host := imagetest.Registry(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
				mutex.Lock()
				downloads[r.URL.Path]++
				mutex.Unlock()
			}
			next.ServeHTTP(w, r)
		})
	})
	base := imagetest.Files{"base": imagetest.Noise(1, 1<<20)}
	imagetest.Push(t, host+"/app:a", imagetest.Image(t, base, imagetest.Files{"a": "a"}))
	imagetest.Push(t, host+"/app:b", imagetest.Image(t, base, imagetest.Files{"a": "b"}))
	p := puller(t)
	var all sync.WaitGroup
	for n := range 8 {
		tag := []string{"a", "b"}[n%2]
		all.Go(func() {
			// A store of its own, as in another process.
			s, err := store.Open(p.Store.Dir())
			if err != nil {
				t.Error(err)
				return
			}
			other := p
			other.Store = s
			pulled, err := other.Pull(context.Background(), host+"/app:"+tag, nil, nil)
			if err != nil {
				t.Error(err)
			} else if got := content(t, other, pulled, "a"); got != tag {
				t.Errorf("the image %s contains %q", tag, got)
			}
		})
	}
	all.Wait()
	for path, n := range downloads {
		if n != 1 {
			t.Errorf("%s was downloaded %d times", path, n)
		}
	}
	if found := leftovers(t, p); len(found) != 2 {
		t.Errorf("there are %v, want the two references", found)
	}
}
