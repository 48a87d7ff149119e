package images_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// keys is a keychain with one login, or without.
type keys struct{ password string }

func (k keys) Resolve(authn.Resource) (authn.Authenticator, error) {
	if k.password == "" {
		return authn.Anonymous, nil
	}
	return &authn.Basic{Username: "web", Password: k.password}, nil
}

// private lets only logins with a password reach repositories below private/.
func private(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		if (strings.HasPrefix(r.URL.Path, "/v2/private/") || r.URL.Path == "/v2/") && password != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, "{}", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func TestAPrivateImageIsForTheNamespaceThatPulledItWithItsCredentials(t *testing.T) {
	host := imagetest.Registry(t, private)
	reference := host + "/private/app:1"
	digest := imagetest.Push(t, reference, imagetest.Image(t, imagetest.Files{"a": "secret"}), remote.WithAuth(&authn.Basic{Username: "web", Password: "secret"}))
	home, err := images.Open(t.TempDir(), images.Options{Registry: images.Host})
	if err != nil {
		t.Fatal(err)
	}
	web, shop := home.For("team-web"), home.For("team-shop")
	if _, err := web.Pull(t.Context(), reference, keys{"secret"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := web.Get(t.Context(), reference); err != nil {
		t.Errorf("the namespace that pulled it does not get it: %v", err)
	}
	for name, try := range map[string]func() error{
		"from the store":         func() error { _, err := shop.Get(t.Context(), reference); return err },
		"without credentials":    func() error { _, err := shop.Pull(t.Context(), reference, keys{}, nil); return err },
		"with wrong credentials": func() error { _, err := shop.Pull(t.Context(), reference, keys{"guess"}, nil); return err },
		"by its digest": func() error {
			_, err := shop.Pull(t.Context(), host+"/private/app@"+digest.String(), keys{}, nil)
			return err
		},
	} {
		if err := try(); err == nil {
			t.Errorf("another namespace gets the image %s", name)
		}
	}
	if _, err := shop.Pull(t.Context(), reference, keys{"secret"}, nil); err != nil {
		t.Errorf("another namespace with the right credentials does not get it: %v", err)
	}
	for name, view := range map[string]images.View{"team-web": web, "team-shop": shop} {
		if _, err := view.Get(t.Context(), reference); err != nil {
			t.Errorf("%s does not keep the image: %v", name, err)
		}
	}
}

func TestATagThatMovesLosesTheUsersOfItsOldImage(t *testing.T) {
	host := imagetest.Registry(t, private)
	login := remote.WithAuth(&authn.Basic{Username: "web", Password: "secret"})
	reference := host + "/private/app:1"
	imagetest.Push(t, reference, imagetest.Image(t, imagetest.Files{"a": "old"}), login)
	home, err := images.Open(t.TempDir(), images.Options{Registry: images.Host})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := home.For("team-shop").Pull(t.Context(), reference, keys{"secret"}, nil); err != nil {
		t.Fatal(err)
	}
	imagetest.Push(t, reference, imagetest.Image(t, imagetest.Files{"a": "new"}), login)
	if _, err := home.For("team-web").Pull(t.Context(), reference, keys{"secret"}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := home.For("team-shop").Get(t.Context(), reference); fault.Of(err) != fault.NotFound {
		t.Errorf("a user of the old image gets the new one: %v", err)
	}
}

func TestAPublicImageIsForEveryone(t *testing.T) {
	host := imagetest.Registry(t, nil)
	imagetest.Push(t, host+"/app:1", imagetest.Image(t, imagetest.Files{"a": "1"}))
	home, err := images.Open(t.TempDir(), images.Options{Registry: images.Host})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := home.For("team-web").Pull(t.Context(), host+"/app:1", keys{}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := home.For("team-shop").Get(t.Context(), host+"/app:1"); err != nil {
		t.Errorf("another namespace does not get it: %v", err)
	}
}

func TestANamespaceUsesItsPartOfTheHomesRegistry(t *testing.T) {
	source := imagetest.Registry(t, nil)
	imagetest.Push(t, source+"/app:1", imagetest.Image(t, imagetest.Files{"a": "1"}))
	home, err := images.Open(t.TempDir(), images.Options{Registry: images.Host})
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := home.Pull(t.Context(), source+"/app:1", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, repository := range []string{"team-web/app", "team-shop/app", "team-web2/app", "shared/app", "app"} {
		if err := home.Store().Refer(t.Context(), store.Reference{Name: images.Host + "/" + repository + ":1", Target: pulled.Manifest}); err != nil {
			t.Fatal(err)
		}
	}
	web := home.For("team-web")
	for reference, want := range map[string]fault.Kind{
		images.Host + "/team-web/app:1":      "",
		images.Host + "/shared/app:1":        "",
		images.Host + "/team-shop/app:1":     fault.Denied,
		images.Host + "/team-web2/app:1":     fault.Denied,
		images.Host + "/app:1":               fault.Denied,
		images.Host + "/team-web/missing:1":  fault.NotFound,
		images.Host + "/team-shop/missing:1": fault.Denied,
	} {
		if _, err := web.Get(t.Context(), reference); fault.Of(err) != want {
			t.Errorf("Get %s: %v, want kind %q", reference, err, want)
		}
		if _, err := web.Pull(t.Context(), reference, nil, nil); fault.Of(err) != want {
			t.Errorf("Pull %s: %v, want kind %q", reference, err, want)
		}
	}
}
