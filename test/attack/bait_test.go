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

// bait is a server on loopback that only this test knows of. Whoever asks it for something has been led there by an attack.
type bait struct {
	server *httptest.Server
	mu     sync.Mutex
	token  string
	taken  []string
}

// hugeBody is what the bait serves below /huge, in bytes.
const hugeBody = 600 << 20

func newBait(t testing.TB) *bait {
	b := &bait{token: unique()}
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		// Flux tries again what an earlier attack has left.
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

// renew lays the bait for another attack, which does not count who takes that of the one before.
func (b *bait) renew() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.token, b.taken = unique(), nil
}

// path is the folder on the server that only the current attack knows.
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

// untouched says who has asked the bait for something since it was laid.
func untouched(_ context.Context, f *field) error {
	f.bait.mu.Lock()
	defer f.bait.mu.Unlock()
	if len(f.bait.taken) > 0 {
		return fmt.Errorf("the bait was asked for %s", strings.Join(f.bait.taken, ", "))
	}
	return nil
}
