package registry_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/local/machine/images/pull"
	"github.com/strata-platform/strata/internal/local/machine/images/registry"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// started starts a registry with the accounts web and shop, which push to their own folders and pull from public, too.
func started(t *testing.T) (host string, s *store.Store) { return startedWith(t, 0) }

// names bounds the tags and digests of each account in the tests, and its blobs without a manifest.
const names = 12

// startedWith is started with a quota for each account, but not for public, which may do everything.
func startedWith(t *testing.T, quota int64) (host string, s *store.Store) {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s.Reserve = 0
	server := httptest.NewUnstartedServer(nil)
	host = server.Listener.Addr().String()
	handler := registry.New(s, host, 1<<20, func(user, password string) (registry.Grant, bool) {
		own := func(repository string) bool { return strings.HasPrefix(repository, user+"/") }
		pulls := func(repository string) bool { return own(repository) || strings.HasPrefix(repository, "public/") }
		grant := registry.Grant{Pull: pulls, Push: own, Quota: quota, Names: names}
		if user == "public" {
			all := func(string) bool { return true }
			grant = registry.Grant{Pull: all, Push: all}
		}
		return grant, slices.Contains([]string{"web", "shop", "public"}, user) && password == "password of "+user
	})
	server.Config.Handler = handler
	server.Start()
	t.Cleanup(handler.Close)
	t.Cleanup(server.Close)
	return host, s
}

// as returns the login of an account.
func as(user string) remote.Option {
	return remote.WithAuth(&authn.Basic{Username: user, Password: "password of " + user})
}

func reference(t *testing.T, text string) name.Reference {
	t.Helper()
	found, err := name.ParseReference(text)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestAPushedImageCanBePulledAndRuns(t *testing.T) {
	host, s := started(t)
	image := imagetest.Image(t, imagetest.Files{"a": "1"}, imagetest.Files{"b": "2"})
	digest := imagetest.Push(t, host+"/web/app:1", image, as("web"))
	pulled, err := remote.Image(reference(t, host+"/web/app:1"), as("web"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(pulled); err != nil {
		t.Error(err)
	}
	local, err := pull.Puller{Store: s, Home: host}.Pull(t.Context(), host+"/web/app:1", nil, nil)
	if err != nil || local.Manifest.Digest != digest {
		t.Errorf("the node gets %+v (%v)", local, err)
	}
	if tags, err := remote.List(reference(t, host+"/web/app:1").Context(), as("web")); err != nil || !slices.Equal(tags, []string{"1"}) {
		t.Errorf("the tags are %v (%v)", tags, err)
	}
	if err := remote.Delete(reference(t, host+"/web/app:1"), as("web")); err != nil {
		t.Error(err)
	}
	if _, err := remote.Head(reference(t, host+"/web/app:1"), as("web")); err == nil {
		t.Error("the deleted tag exists")
	}
	if found, err := filepath.Glob(s.Partial("*")); err != nil || len(found) > 0 {
		t.Errorf("unfinished files are left: %v (%v)", found, err)
	}
}

func TestAnAccountHasOnlyItsRights(t *testing.T) {
	host, _ := started(t)
	image := imagetest.Image(t, imagetest.Files{"a": "secret of web"})
	digest := imagetest.Push(t, host+"/web/app:1", image, as("web"))
	imagetest.Push(t, host+"/public/app:1", imagetest.Image(t, imagetest.Files{"a": "public"}), as("public"))
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	layer, err := layers[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		try  func() error
		want string
	}{
		"a pull without a login": {func() error { _, err := remote.Get(reference(t, host+"/web/app:1")); return err }, "UNAUTHORIZED"},
		"a push without a login": {func() error { return remote.Write(reference(t, host+"/web/x"), image) }, "401 Unauthorized"},
		"a wrong password": {func() error {
			return remote.Write(reference(t, host+"/web/x"), image, remote.WithAuth(&authn.Basic{Username: "web", Password: "x"}))
		}, "401 Unauthorized"},
		"a pull of another's image":   {func() error { _, err := remote.Get(reference(t, host+"/web/app:1"), as("shop")); return err }, "DENIED"},
		"a push to another's image":   {func() error { return remote.Write(reference(t, host+"/web/app:2"), image, as("shop")) }, "403 Forbidden"},
		"a push to a readable image":  {func() error { return remote.Write(reference(t, host+"/public/app:2"), image, as("shop")) }, "DENIED"},
		"a pull of a public image":    {func() error { _, err := remote.Get(reference(t, host+"/public/app:1"), as("shop")); return err }, ""},
		"a deletion of another's tag": {func() error { return remote.Delete(reference(t, host+"/web/app:1"), as("shop")) }, "DENIED"},
		"a blob of another repository by its digest": {func() error {
			l, err := remote.Layer(reference(t, host+"/shop/app").Context().Digest(layer.String()), as("shop"))
			if err == nil {
				_, err = l.Compressed()
			}
			return err
		}, "BLOB_UNKNOWN"},
		"a manifest that names a blob of another repository": {func() error {
			return remote.Put(reference(t, host+"/shop/app"), image, as("shop"))
		}, "MANIFEST_BLOB_UNKNOWN"},
		"a manifest of another repository by its digest": {func() error {
			_, err := remote.Get(reference(t, host+"/shop/app@"+digest.String()), as("shop"))
			return err
		}, "MANIFEST_UNKNOWN"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.try(); (err == nil) != (c.want == "") || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
	catalog, err := remote.Catalog(t.Context(), reference(t, host+"/x").Context().Registry, as("shop"))
	if err != nil || !slices.Equal(catalog, []string{"public/app"}) {
		t.Errorf("the catalogue is %v (%v)", catalog, err)
	}
}

// request sends a request as the account web.
func request(t *testing.T, method, url, kind string, body []byte) (answer, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("web", "password of web")
	r.Header.Set("Content-Type", kind)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Status, response.Header}, string(content)
}

// answer is the head of a response.
type answer struct {
	StatusCode int
	Status     string
	Header     http.Header
}

func TestABlobIsUploadedInPartsAndReadInParts(t *testing.T) {
	host, _ := started(t)
	begun, _ := request(t, http.MethodPost, "http://"+host+"/v2/web/app/blobs/uploads/", "", nil)
	at := "http://" + host + begun.Header.Get("Location")
	for _, part := range []string{"first ", "second"} {
		if answer, text := request(t, http.MethodPatch, at, "", []byte(part)); answer.StatusCode != http.StatusAccepted {
			t.Fatalf("PATCH answers %s: %s", answer.Status, text)
		}
	}
	if answer, _ := request(t, http.MethodGet, at, "", nil); answer.Header.Get("Range") != "0-11" {
		t.Errorf("the upload has the range %s", answer.Header.Get("Range"))
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte("first second")))
	if answer, text := request(t, http.MethodPut, at+"?digest="+digest, "", nil); answer.StatusCode != http.StatusCreated {
		t.Fatalf("PUT answers %s: %s", answer.Status, text)
	}
	if _, text := request(t, http.MethodGet, "http://"+host+"/v2/web/app/blobs/"+digest, "", nil); text != "first second" {
		t.Errorf("the blob is %q", text)
	}
}

func TestWrongRequestsAreRefusedAndNothingIsLeft(t *testing.T) {
	host, s := started(t)
	zero := "sha256:" + strings.Repeat("0", 64)
	manifest, err := json.Marshal(v1.Manifest{SchemaVersion: 2, Config: v1.Descriptor{Digest: v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)}}})
	if err != nil {
		t.Fatal(err)
	}
	const image = "application/vnd.oci.image.manifest.v1+json"
	for name, c := range map[string]struct {
		method, path, kind string
		body               []byte
		status             int
		want               string
	}{
		"a wrong digest":             {http.MethodPost, "web/app/blobs/uploads/?digest=" + zero, "", []byte("x"), 400, "DIGEST_INVALID"},
		"no digest":                  {http.MethodPost, "web/app/blobs/uploads/?digest=x", "", []byte("x"), 400, "DIGEST_INVALID"},
		"a blob above the limit":     {http.MethodPost, "web/app/blobs/uploads/?digest=" + zero, "", make([]byte, 1<<20+1), 413, "at most 1048576 bytes"},
		"an unknown upload":          {http.MethodPatch, "web/app/blobs/uploads/x", "", nil, 404, "BLOB_UPLOAD_UNKNOWN"},
		"a manifest without blobs":   {http.MethodPut, "web/app/manifests/1", image, manifest, 404, "MANIFEST_BLOB_UNKNOWN"},
		"a manifest without JSON":    {http.MethodPut, "web/app/manifests/1", image, []byte("x"), 400, "MANIFEST_INVALID"},
		"a manifest above the limit": {http.MethodPut, "web/app/manifests/1", image, make([]byte, 5<<20), 413, "MANIFEST_INVALID"},
		"a manifest of another kind": {http.MethodPut, "web/app/manifests/1", "text/plain", []byte("{}"), 400, "MANIFEST_INVALID"},
		"a wrong tag":                {http.MethodPut, "web/app/manifests/a%20b", image, []byte("{}"), 400, "MANIFEST_INVALID"},
		"a repository with dots":     {http.MethodGet, "web/../app/manifests/1", "", nil, 404, ""},
		"a repository in capitals":   {http.MethodGet, "web/APP/manifests/1", "", nil, 400, "NAME_INVALID"},
		"a blob with a wrong digest": {http.MethodGet, "web/app/blobs/sha256:..%2f..", "", nil, 404, "UNSUPPORTED"},
		"an unknown path":            {http.MethodGet, "web/app/nothing", "", nil, 404, "UNSUPPORTED"},
		"an unknown method":          {http.MethodPost, "web/app/manifests/1", "", nil, 405, "UNSUPPORTED"},
	} {
		t.Run(name, func(t *testing.T) {
			got, text := request(t, c.method, "http://"+host+"/v2/"+c.path, c.kind, c.body)
			if got.StatusCode != c.status || !strings.Contains(text, c.want) {
				t.Errorf("the answer is %s: %s, want %d: %s", got.Status, text, c.status, c.want)
			}
		})
	}
	for _, folder := range []string{"partial", "blobs/sha256"} {
		if found, err := os.ReadDir(filepath.Join(s.Dir(), folder)); err != nil || len(found) > 0 {
			t.Errorf("%s contains %v (%v)", folder, found, err)
		}
	}
}

func TestUnfinishedUploadsOfOneTeamLeaveRoomForOthers(t *testing.T) {
	host, _ := started(t)
	begin := func(user, repository string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+host+"/v2/"+repository+"/blobs/uploads/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetBasicAuth(user, "password of "+user)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		return response.StatusCode
	}
	const most, more = 256, 2
	rejected := 0
	for n := range most + more {
		if begin("web", fmt.Sprintf("web/app%d", n)) == http.StatusTooManyRequests {
			rejected++
		}
	}
	if rejected <= more {
		t.Errorf("one team has %d unfinished uploads", most+more-rejected)
	}
	if got := begin("shop", "shop/app"); got != http.StatusAccepted {
		t.Errorf("then another team's upload begins with status %d", got)
	}
}
