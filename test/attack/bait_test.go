package attack

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// bait is a server on loopback whose address only this test knows. A request to it proves that an attack succeeded.
type bait struct {
	server *httptest.Server
	mu     sync.Mutex
	token  string
	taken  []string
}

// hugeBody is the size in bytes of the response below /huge.
const hugeBody = 600 << 20

func newBait(t testing.TB) *bait {
	b := &bait{token: unique()}
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		// Flux may retry the URL of an earlier attack, which does not count.
		if strings.Contains(r.URL.Path, b.token) {
			b.taken = append(b.taken, r.Method+" "+r.URL.Path)
		}
		b.mu.Unlock()
		switch {
		case strings.Contains(r.URL.Path, "/slow"):
			<-r.Context().Done()
		case strings.Contains(r.URL.Path, "/huge"):
			chunk := make([]byte, 1<<20)
			for range hugeBody >> 20 {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		default:
			fmt.Fprintln(w, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stolen}")
		}
	}))
	t.Cleanup(func() { b.server.CloseClientConnections(); b.server.Close() })
	return b
}

// renew chooses a new path for the next attack, so that requests for the previous path do not count.
func (b *bait) renew() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.token, b.taken = unique(), nil
}

// path returns the folder on the server that only the current attack knows.
func (b *bait) path() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return "/" + b.token
}

func (b *bait) url() string { return b.server.URL + b.path() }

func (b *bait) port() string {
	_, port, err := net.SplitHostPort(b.server.Listener.Addr().String())
	if err != nil {
		panic(err)
	}
	return port
}

// untouched returns an error for the requests since the last renew.
func untouched(_ context.Context, f *field) error {
	f.bait.mu.Lock()
	defer f.bait.mu.Unlock()
	if len(f.bait.taken) > 0 {
		return fmt.Errorf("the bait got requests for %s", strings.Join(f.bait.taken, ", "))
	}
	return nil
}
