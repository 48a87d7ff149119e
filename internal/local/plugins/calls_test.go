package plugins_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// calls records the calls of service accounts: one line for each kind of call, with {} in place of the names of
// objects, and with the names of the query parameters.
type calls struct {
	mu     sync.Mutex
	tokens map[string]bool // of service accounts
	lines  map[string]bool
}

// around returns a handler that records calls before next.
func (c *calls) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			c.token(w, r, next)
			return
		}
		c.mu.Lock()
		if c.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")] {
			c.lines[callLine(r)] = true
		}
		c.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

// token records the access tokens that the emulator issues for keys.
func (c *calls) token(w http.ResponseWriter, r *http.Request, next http.Handler) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer := httptest.NewRecorder()
	next.ServeHTTP(answer, r)
	var made struct {
		AccessToken string `json:"access_token"`
	}
	if bytes.Contains(body, []byte("jwt-bearer")) && json.Unmarshal(answer.Body.Bytes(), &made) == nil {
		c.mu.Lock()
		c.tokens[made.AccessToken] = true
		c.mu.Unlock()
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

var (
	versions = regexp.MustCompile(`/((sql/|storage/)?v\d\w*|beta)(/(sql/)?v\d\w*)?/`)
	// collections matches the name of a collection in a path with the name of an object after it. A verb may follow.
	collections = regexp.MustCompile(`/(projects|serviceAccounts|keys|roles|services|b|o|locations|zones|clusters|nodePools|operations|instances|databases|instanceGroupManagers|keyRings|cryptoKeys)/[^/:]+`)
)

func callLine(r *http.Request) string {
	path := versions.ReplaceAllString(r.URL.Path, "/")
	// Matches overlap, so that one pass replaces only every second name.
	path = collections.ReplaceAllString(collections.ReplaceAllString(path, "/$1/{}"), "/$1/{}")
	var query []string
	for k := range r.URL.Query() {
		if k != "alt" && k != "prettyPrint" && k != "fields" {
			query = append(query, k)
		}
	}
	slices.Sort(query)
	return strings.TrimSpace(r.Method + " " + path + " " + strings.Join(query, ","))
}

func (c *calls) sorted() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var lines []string
	for line := range c.lines {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}
