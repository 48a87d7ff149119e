package attempt

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"

	"github.com/strata-platform/strata/internal/audit"
)

// errNotRoot is the error of an attempt as another user by a user who cannot become one.
var errNotRoot = errors.New("needs root: only root can act as another user of the machine")

// Open opens a file or folder for reading as another user of the machine.
func Open(path string) audit.Answer {
	open := func() error {
		file, err := os.Open(path)
		if err == nil {
			err = file.Close()
		}
		return err
	}
	// Without this, a missing file would look like a protected one.
	if err := open(); err != nil {
		return audit.Answer{Err: err}
	}
	return asOther(open)
}

// Dial connects to a server as another user of the machine. The server may accept the connection and end it at once, when the kernel
// tells it who connects: then it has refused.
func Dial(ctx context.Context, network, address string) audit.Answer {
	dial := func() error { return talk(ctx, network, address) }
	// Without this, a server that does not run would look like one that refuses.
	if err := dial(); err != nil {
		return audit.Answer{Err: fmt.Errorf("the server does not answer the user of the home: %w", err)}
	}
	answer := asOther(dial)
	if errors.Is(answer.Err, errEnded) {
		return audit.Answer{By: "the server, by the user", Message: errEnded.Error()}
	}
	return answer
}

// errEnded is the error of a connection that the server ends without an answer.
var errEnded = errors.New("the server ends the connection")

// talk connects to a server and reads the first byte of its answer. Every server of the platform answers HTTP.
func talk(ctx context.Context, network, address string) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	defer connection.Close()
	if deadline, ok := ctx.Deadline(); ok {
		if err := connection.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprint(connection, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); err != nil {
		return errEnded
	}
	switch n, err := connection.Read(make([]byte, 1)); {
	case n > 0:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return err
	}
	return errEnded
}

// asOther calls do as another user of the machine.
func asOther(do func() error) audit.Answer {
	err := otherUser(do)
	switch {
	case errors.Is(err, errNotRoot):
		return audit.Answer{Skipped: err.Error()}
	case errors.Is(err, fs.ErrPermission):
		return audit.Answer{By: "file permissions", Message: err.Error()}
	case err != nil:
		return audit.Answer{Err: err}
	}
	return audit.Answer{Allowed: true}
}

// WithoutCertificate requests a page of a server that demands a client certificate, without one.
func WithoutCertificate(ctx context.Context, address string) audit.Answer {
	transport := &http.Transport{
		// The attempt is about the client's certificate. It sends nothing worth protecting.
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
	}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return audit.Answer{Err: err}
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		alert := tls.AlertError(0)
		if errors.As(err, &alert) || strings.Contains(err.Error(), "remote error: tls:") {
			return audit.Answer{By: "TLS", Message: err.Error()}
		}
		return audit.Answer{Err: err}
	}
	defer response.Body.Close()
	return answered("authentication", response.StatusCode, nil, nil)
}
