package prebuilt

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// content is the file of the servers.
var content = strings.Repeat("0123456789", 10_000)

// server serves content. Each connection sends at most part bytes and then breaks. Without ranges, it ignores the header
// Range.
func server(t *testing.T, part int, ranges bool) (address *url.URL, connections *atomic.Int32) {
	t.Helper()
	connections = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connections.Add(1)
		from := 0
		if text, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok && ranges {
			from, _ = strconv.Atoi(strings.TrimSuffix(text, "-"))
			w.Header().Set("Content-Range", "bytes "+strconv.Itoa(from)+"-"+strconv.Itoa(len(content)-1)+"/"+strconv.Itoa(len(content)))
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(content)-from))
		if w.Header().Get("Content-Range") != "" {
			w.WriteHeader(http.StatusPartialContent)
		}
		to := min(from+part, len(content))
		_, _ = io.WriteString(w, content[from:to])
		if to < len(content) {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u, connections
}

func readAll(ctx context.Context, u *url.URL, stalled time.Duration) (string, error) {
	r, err := openURL(ctx, u, stalled, time.Millisecond)
	if err != nil {
		return "", err
	}
	defer r.Close()
	all, err := io.ReadAll(r)
	return string(all), err
}

func TestReadingContinuesAfterABrokenConnection(t *testing.T) {
	u, connections := server(t, 30_000, true)
	if got, err := readAll(t.Context(), u, time.Minute); err != nil || got != content {
		t.Errorf("read %d bytes, %v, want %d", len(got), err, len(content))
	}
	if n := connections.Load(); n != 4 {
		t.Errorf("there were %d connections, want 4", n)
	}
}

func TestReadingContinuesWithoutRangesIfTheServerSendsMore(t *testing.T) {
	broken := atomic.Bool{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		if broken.CompareAndSwap(false, true) {
			_, _ = io.WriteString(w, content[:50_000])
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, content)
	}))
	defer s.Close()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readAll(t.Context(), u, time.Minute); err != nil || got != content {
		t.Errorf("read %d bytes, %v, want %d", len(got), err, len(content))
	}
}

func TestAServerThatAlwaysBreaksAtTheSameByteIsGivenUp(t *testing.T) {
	u, connections := server(t, 30_000, false)
	_, err := readAll(t.Context(), u, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "the connection broke after ") || !strings.Contains(err.Error(), "4 attempts to continue failed") {
		t.Errorf("the error is %v", err)
	}
	if n := connections.Load(); n > mostAttempts {
		t.Errorf("there were %d connections", n)
	}
}

func TestAServerThatSendsNothingIsGivenUp(t *testing.T) {
	stuck := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stuck }))
	defer s.Close()
	defer close(stuck)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(t.Context(), u, 10*time.Millisecond); err == nil || !strings.Contains(err.Error(), "the server sends nothing for 10ms") {
		t.Errorf("the error is %v", err)
	}
}

func TestAnInterruptEndsTheReading(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		_, _ = io.WriteString(w, content[:10])
		_ = http.NewResponseController(w).Flush()
		cancel(stop)
		<-r.Context().Done()
	}))
	defer s.Close()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(ctx, u, time.Minute); !errors.Is(err, stop) {
		t.Errorf("the error is %v", err)
	}
}

func TestErrorsOfServersNameNoSecret(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	for source, says := range map[string]string{
		strings.Replace(s.URL, "http://", "http://me:geheim@", 1) + "/tools.tar.zst?token=geheim": "the server answers 404 Not Found",
		"http://me:geheim@" + gone.Addr().String() + "/?token=geheim":                             "connection refused",
		"http://me:geheim@\x7f/": "it is neither",
	} {
		_, err := Open(t.Context(), source, "tools.tar.zst")
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "geheim") {
			t.Errorf("the error is %v", err)
		}
		if text := Printable(source); strings.Contains(text, "geheim") {
			t.Errorf("messages contain %s", text)
		}
	}
}

func TestTheURLOfAFolderLeadsToTheBundleOfTheRelease(t *testing.T) {
	asked := make(chan string, 1)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked <- r.URL.Path }))
	defer s.Close()
	for source, want := range map[string]string{
		s.URL + "/v1":            "/v1/tools.tar.zst",
		s.URL + "/v1/":           "/v1/tools.tar.zst",
		s.URL + "/other.tar.zst": "/other.tar.zst",
	} {
		r, err := Open(t.Context(), source, "tools.tar.zst")
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
		if got := <-asked; got != want {
			t.Errorf("%s: the request is for %s, want %s", source, got, want)
		}
	}
}
