package cloud

import (
	"crypto/tls"
	"net/http"

	"github.com/strata-platform/strata/internal/local/cloud/sql/serverproxy"
)

// TLSConfig returns the server's configuration for TLS connections to the hosts of Hosts. Clients must trust Authority.
func (s *Server) TLSConfig() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{s.certificate}, MinVersion: tls.VersionTLS12}
}

// ForPods returns a handler of the calls of clients that reach the servers of Cloud SQL at other addresses than clients on
// this machine. address returns such an address for the IP address of a server. In a pod, the servers' own addresses,
// below 127.0.0.0/8, are the pod's.
func (s *Server) ForPods(address func(server string) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodConnect {
			http.Error(w, "no tunnel: pods reach the hosts of the emulated Google Cloud at their names", http.StatusMethodNotAllowed)
			return
		}
		s.ServeHTTP(w, r.WithContext(serverproxy.WithAddress(r.Context(), address)))
	})
}
