package githubapp

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestGitHubAppsKeyIsExchangedForAToken(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		parts := strings.Split(strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "), ".")
		if len(parts) != 3 || req.URL.Path != "/app/installations/7/access_tokens" {
			http.Error(w, `{"message": "Not Found"}`, http.StatusNotFound)
			return
		}
		signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
		digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
		claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
		var claim struct{ Iss string }
		if rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, digest[:], signature) != nil || json.Unmarshal(claims, &claim) != nil || claim.Iss != "42" {
			http.Error(w, `{"message": "Bad credentials"}`, http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"token": "ghs_x"}`)
	}))
	defer server.Close()
	text := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	if token, err := exchange(t.Context(), server.URL, "42", "7", text); err != nil || token != "ghs_x" {
		t.Errorf("token %q (%v)", token, err)
	}
	for name, c := range map[string]struct{ app, installation, key, want string }{
		"of another app":          {"43", "7", text, "Bad credentials"},
		"of another installation": {"42", "8", text, "Not Found"},
		"without a key":           {"42", "7", "canary", "is not PEM"},
		"by a key of a megabyte":  {"42", "7", strings.Repeat("x", 1<<20), "has 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := exchange(t.Context(), server.URL, c.app, c.installation, c.key); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one about %q", err, c.want)
			}
		})
	}
}

func TestGitHubIsAskedForATokenOnceInItsLife(t *testing.T) {
	var tokens Tokens
	asked := 0
	get := func() (string, error) {
		asked++
		return fmt.Sprint("token-", asked), nil
	}
	now := time.Now()
	for _, step := range []struct {
		key  string
		at   time.Duration
		want string
	}{
		{"a", 0, "token-1"}, {"a", time.Minute, "token-1"}, {"b", time.Minute, "token-2"}, {"a", tokenLife + time.Second, "token-3"},
	} {
		if got, err := tokens.get([]string{step.key}, now.Add(step.at), get); err != nil || got != step.want {
			t.Errorf("for %s after %v: %s (%v), want %s", step.key, step.at, got, err, step.want)
		}
	}
}
