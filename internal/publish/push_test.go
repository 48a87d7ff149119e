package publish

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
)

// TestTheTagIsPushedLast ensures that Flux never finds a version without its signature.
func TestTheTagIsPushedLast(t *testing.T) {
	var lock sync.Mutex
	var pushed []string
	host := imagetest.Registry(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, reference, ok := strings.Cut(r.URL.Path, "/manifests/"); ok && r.Method == http.MethodPut {
				lock.Lock()
				pushed = append(pushed, reference)
				lock.Unlock()
			}
			next.ServeHTTP(w, r)
		})
	})
	o := options(t, tree(t, map[string]string{"a.yaml": "1"}))
	o.Repository = host + "/team-web/deploy"
	result := mustPublish(t, o)
	tag := strings.Replace(result.Digest, ":", "-", 1)
	if want := []string{result.Digest, tag + ".sig", tag + ".att", result.Version}; strings.Join(pushed, " ") != strings.Join(want, " ") {
		t.Errorf("the manifests were pushed as %v, want %v", pushed, want)
	}
}

func TestTheAttestationNamesTheCommit(t *testing.T) {
	dir := tree(t, map[string]string{"deploy/a.yaml": "1"})
	git := gitIn(t, dir)
	git("init", "--quiet")
	git("remote", "add", "origin", "https://user:secret@git.example.com/web.git?token=secret")
	git("add", ".")
	git("commit", "--quiet", "--message=x")
	o := options(t, filepath.Join(dir, "deploy"))
	result := mustPublish(t, o)
	want := Origin{Commit: git("rev-parse", "HEAD"), Tree: git("rev-parse", "HEAD:deploy"), Source: "https://git.example.com/web.git"}
	if result.Origin != want {
		t.Errorf("the origin is %+v, want %+v", result.Origin, want)
	}
	_, content := layer(t, o, strings.Replace(result.Digest, ":", "-", 1)+".att")
	var envelope struct {
		PayloadType, Payload string
		Signatures           []struct{ Sig string }
	}
	if err := json.Unmarshal(content, &envelope); err != nil {
		t.Fatal(err)
	}
	statement, err := base64.StdEncoding.DecodeString(envelope.Payload)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{want.Commit, want.Tree, strings.TrimPrefix(result.Digest, "sha256:"), "git+https://git.example.com/web.git", provenanceType} {
		if !strings.Contains(string(statement), part) {
			t.Errorf("the statement does not contain %s: %s", part, statement)
		}
	}
	if strings.Contains(string(statement), "secret") {
		t.Errorf("the statement contains the login: %s", statement)
	}
	signed := fmt.Sprintf("DSSEv1 %d %s %d %s", len(envelope.PayloadType), envelope.PayloadType, len(statement), statement)
	if !o.Key.Verify([]byte(signed), []byte(envelope.Signatures[0].Sig)) {
		t.Error("the signature of the statement is wrong")
	}
}

func TestAnswersOfRegistriesAreOneLine(t *testing.T) {
	for status, says := range map[int]string{
		http.StatusUnauthorized: "does not accept the login", http.StatusForbidden: "the account has no such right", http.StatusTeapot: "answers 418",
	} {
		host := imagetest.Registry(t, func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v2/" {
					next.ServeHTTP(w, r)
					return
				}
				w.WriteHeader(status)
				fmt.Fprint(w, `{"errors": [{"code": "DENIED", "message": "the account has no such right"}]}`)
			})
		})
		_, err := Publish(t.Context(), Options{
			Dir: tree(t, map[string]string{"a": "1"}), Repository: host + "/team-shop/deploy", Insecure: true, Login: authn.Anonymous, Key: newKey(t),
		})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%d: the error is %v", status, err)
		}
	}
}
