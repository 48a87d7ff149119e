package streams

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// session is one call. It is the http.ResponseWriter of the call, so that it owns the connection after the upgrade, and
// notices when the client goes away: net/http does not watch a connection that a handler has taken over.
type session struct {
	http.ResponseWriter
	request *http.Request
	// end ends the session: its context and its connection.
	end context.CancelFunc

	mu   sync.Mutex
	conn net.Conn // nil before the upgrade
}

// serve runs a session until it ends, the client goes away, or the server closes. Nothing of the session is left then, apart
// from a call of run that does not return when its connection breaks.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, run func(*session)) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		http.Error(w, "this node serves too many sessions of exec, attach and port-forward: end some of them", http.StatusTooManyRequests)
		return
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		http.Error(w, "this node is shutting down", http.StatusServiceUnavailable)
		return
	}
	s.sessions.Add(1)
	s.mu.Unlock()
	defer s.sessions.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	session := &session{ResponseWriter: w, request: r.WithContext(ctx), end: cancel}
	defer session.close()
	defer context.AfterFunc(ctx, session.close)()
	run(session)
}

// Hijack implements http.Hijacker. What it returns reads and writes through the session.
func (s *session) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(s.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	watched := &watched{conn, s.end}
	s.mu.Lock()
	s.conn = conn
	s.mu.Unlock()
	if s.request.Context().Err() != nil {
		s.close()
	}
	received, err := buffered.Peek(buffered.Reader.Buffered())
	if err != nil {
		return nil, nil, err
	}
	reader := io.MultiReader(bytes.NewReader(bytes.Clone(received)), watched)
	return watched, bufio.NewReadWriter(bufio.NewReader(reader), bufio.NewWriter(watched)), nil
}

// close closes the connection.
func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		s.conn.Close()
	}
}

// lastWords is how long the last writes of a session may take. A client that reads nothing must not keep the session.
const lastWords = 30 * time.Second

// finish bounds the rest of the session.
func (s *session) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn != nil {
		_ = s.conn.SetWriteDeadline(time.Now().Add(lastWords))
	}
}

// watched is a connection that ends its session when it breaks.
type watched struct {
	net.Conn
	end context.CancelFunc
}

// Read implements net.Conn.
func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		w.end()
	}
	return n, err
}

// Close implements net.Conn.
func (w *watched) Close() error {
	w.end()
	return w.Conn.Close()
}
