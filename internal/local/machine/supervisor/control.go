package supervisor

import (
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net"
	"net/http"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// controlSecret is the name of the home's secret that callers of the control socket present. The socket's mode
// excludes other users. The secret excludes a team's run of Pulumi, which runs as the same user but cannot read the
// home.
const controlSecret = "control"

// control returns the handler of the control socket.
func (s *supervisor) control(secret string) http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, value any, err error) {
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			value = controlError{Error: err.Error()}
		}
		_ = json.NewEncoder(w).Encode(value)
	}
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		status, err := s.status(r.Context())
		answer(w, status, err)
	})
	mux.HandleFunc("POST /cluster", func(w http.ResponseWriter, r *http.Request) {
		answer(w, struct{}{}, s.cluster.start(r.Context()))
	})
	mux.HandleFunc("POST /repositories/{name}", func(w http.ResponseWriter, r *http.Request) {
		answer(w, struct{}{}, s.git.Create(r.Context(), r.PathValue("name")))
	})
	mux.HandleFunc("POST /stop", func(w http.ResponseWriter, _ *http.Request) {
		s.stop() // first, so that a caller with this answer finds the status Stopping
		answer(w, struct{}{}, nil)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+secret)) != 1 {
			http.Error(w, "not allowed", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// controlError is the body of an answer with an error.
type controlError struct {
	Error string `json:"error"`
}

// listenControl listens on the control socket. The caller holds the home's lock, so an existing socket belongs to a
// killed supervisor.
func listenControl(h home.Home) (net.Listener, error) {
	l, err := home.ListenUnix(h.Socket())
	if err != nil {
		return nil, fmt.Errorf("listen on the control socket: %w", err)
	}
	return l, nil
}
