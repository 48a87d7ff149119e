// Package githubapp gets tokens for installations of GitHub apps.
package githubapp

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// githubAPI is the address of the GitHub API that exchanges an app's key for a token.
const githubAPI = "https://api.github.com"

// App holds the IDs of an app and its installation, and the app's private key.
// GitHub exchanges the key for a token of the installation, which is valid for an hour.
type App struct{ ID, Installation, Key string }

const (
	// tokenLife is how long the operator reuses a token. A token is valid for an
	// hour, and the fetch itself takes time.
	tokenLife = 50 * time.Minute

	// longestKey bounds the size of a private key in PEM, in bytes. GitHub's keys have
	// 2048 bits. A signature with a key of a megabyte takes hours, and a context cannot
	// cancel it.
	longestKey = 8 << 10

	// TokenSpare is how long a Stack uses a token before it asks for one again.
	// TokenSpare is shorter than a token's remaining lifetime.
	TokenSpare = 5 * time.Minute
)

// Tokens caches tokens, because Stacks check their sources more often than GitHub
// issues tokens.
type Tokens struct {
	mu     sync.Mutex
	tokens map[string]entry
}

type entry struct {
	token string
	until time.Time
}

// Token returns a token for an installation of an app, from the cache if possible. The token
// is valid for at least ten minutes.
func (g *Tokens) Token(ctx context.Context, app *App) (string, error) {
	return g.get([]string{app.ID, app.Installation, app.Key}, time.Now(), func() (string, error) {
		return exchange(ctx, githubAPI, app.ID, app.Installation, app.Key)
	})
}

// get returns the cached token for the credentials, or calls the function get for a new
// one. get holds no lock during that call, so concurrent callers get one token each.
func (g *Tokens) get(credentials []string, now time.Time, get func() (string, error)) (string, error) {
	key := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(credentials, "\x00"))))
	if token, ok := g.known(key, now); ok {
		return token, nil
	}
	token, err := get()
	if err != nil {
		return "", err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.tokens == nil {
		g.tokens = map[string]entry{}
	}
	g.tokens[key] = entry{token, now.Add(tokenLife)}
	return token, nil
}

func (g *Tokens) known(key string, now time.Time) (string, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.tokens, func(_ string, known entry) bool { return now.After(known.until) })
	found, ok := g.tokens[key]
	return found.token, ok
}

// exchange requests a token of an installation from the GitHub API at the address
// api.
func exchange(ctx context.Context, api, app, installation, key string) (string, error) {
	signed, err := claim(app, key, time.Now())
	if err != nil {
		return "", err
	}
	address := api + "/app/installations/" + url.PathEscape(installation) + "/access_tokens"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(nil))
	if err != nil {
		return "", err
	}
	req.Header.Set("Authorization", "Bearer "+signed)
	req.Header.Set("Accept", "application/vnd.github+json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", fmt.Errorf("ask GitHub for a token: %w", err)
	}
	defer resp.Body.Close()
	var answer struct{ Token, Message string }
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&answer); err != nil {
		return "", fmt.Errorf("read GitHub's answer (%s): %w", resp.Status, err)
	}
	if resp.StatusCode != http.StatusCreated || answer.Token == "" {
		return "", fmt.Errorf("GitHub refuses a token for installation %s of app %s: %s: %s", installation, app, resp.Status, answer.Message)
	}
	return answer.Token, nil
}

// claim returns the JSON web token that authenticates an app.
func claim(app, key string, now time.Time) (string, error) {
	if len(key) > longestKey {
		return "", fmt.Errorf("the app's private key has %d bytes: GitHub's have fewer than %d", len(key), longestKey)
	}
	block, _ := pem.Decode([]byte(key))
	if block == nil {
		return "", errors.New("the app's private key is not PEM: store the key file as GitHub gives it")
	}
	private, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		parsed, otherErr := x509.ParsePKCS8PrivateKey(block.Bytes)
		rsaKey, ok := parsed.(*rsa.PrivateKey)
		if otherErr != nil || !ok {
			return "", errors.New("the app's private key is not an RSA key")
		}
		private = rsaKey
	}
	encode := base64.RawURLEncoding.EncodeToString
	// The token is valid from a minute ago, because clocks differ. GitHub allows ten
	// minutes at most.
	claims, err := json.Marshal(map[string]any{"iss": app, "iat": now.Add(-time.Minute).Unix(), "exp": now.Add(5 * time.Minute).Unix()})
	if err != nil {
		return "", err
	}
	text := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	digest := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, digest[:])
	if err != nil {
		return "", fmt.Errorf("sign for GitHub: %w", err)
	}
	return text + "." + encode(signature), nil
}
