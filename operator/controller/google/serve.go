package google

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/strata-platform/strata/operator/sandbox"
)

// The address at which a preview looks instances up, in its own network.
const (
	host, address, port = "lookups.strata.internal", "127.0.0.3", "8080"
	path                = "/sql/v1beta4/"
)

// Bounds of the requests of one preview.
const (
	mostLookups   = 100
	longestHeader = 16 << 10
	longestAnswer = 1 << 20
)

// names matches the names of projects and instances.
var names = regexp.MustCompile(`^[a-z][a-z0-9-]{0,97}$`)

// Endpoints returns the addresses that the preview reaches for its look-ups. The operator's process serves them: no other process can
// connect to them.
func (a *Access) Endpoints() []sandbox.Endpoint {
	if a.project == "" {
		return nil
	}
	return []sandbox.Endpoint{{Name: host, Address: net.JoinHostPort(address, port), Serve: a.serve}}
}

// serve answers one request of a preview. A client opens a new connection for the next one.
func (a *Access) serve(ctx context.Context, conn net.Conn) {
	_ = conn.SetDeadline(time.Now().Add(2 * timeout)) // A connection that has ended returns an error below.
	request, err := http.ReadRequest(bufio.NewReader(io.LimitReader(conn, longestHeader)))
	if err != nil {
		return
	}
	code, body := a.answer(ctx, request)
	answer := &http.Response{
		StatusCode: code, ProtoMajor: 1, ProtoMinor: 1, Close: true, ContentLength: int64(len(body)), Body: io.NopCloser(bytes.NewReader(body)),
		Header: http.Header{"Content-Type": {"application/json; charset=UTF-8"}},
	}
	_ = answer.Write(conn) // The client has gone.
}

// answer looks an instance up. Of the request, only the name of the instance goes to Google Cloud: any other text, or the name of a
// project, could carry data out to whoever can read the log of that project.
func (a *Access) answer(ctx context.Context, request *http.Request) (code int, body []byte) {
	name, found := strings.CutPrefix(request.URL.Path, path+"projects/"+a.project+"/instances/")
	if !found || !names.MatchString(name) || request.Method != http.MethodGet {
		return refusal(http.StatusForbidden, "forbidden", "a plan can look up Cloud SQL instances of project %s, and nothing else in Google Cloud", a.project)
	}
	if a.used.Add(1) > mostLookups {
		return refusal(http.StatusTooManyRequests, "rateLimitExceeded", "a plan of a Stack can look up at most %d instances", mostLookups)
	}
	outgoing, err := http.NewRequestWithContext(ctx, http.MethodGet, a.endpoint+"projects/"+a.project+"/instances/"+name, nil)
	if err != nil {
		return refusal(http.StatusBadGateway, "backendError", "the address of the Cloud SQL Admin API is no URL")
	}
	answer, err := a.client.Do(outgoing)
	if err != nil {
		// The reason may contain the operator's addresses and a part of its key.
		return refusal(http.StatusBadGateway, "backendError", "the operator does not reach the Cloud SQL Admin API with the identity of plans")
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(io.LimitReader(answer.Body, longestAnswer+1))
	if err != nil || len(body) > longestAnswer {
		return refusal(http.StatusBadGateway, "backendError", "the answer of the Cloud SQL Admin API ends early or has more than %d bytes", longestAnswer)
	}
	return answer.StatusCode, body
}

// refusal returns an error in the form of Google's APIs.
func refusal(code int, reason, format string, args ...any) (int, []byte) {
	text := fmt.Sprintf(format, args...)
	body, err := json.Marshal(map[string]any{"error": map[string]any{
		"code": code, "message": text, "errors": []any{map[string]any{"message": text, "domain": "global", "reason": reason}},
	}})
	if err != nil { // A map of texts and numbers is always JSON.
		return http.StatusInternalServerError, nil
	}
	return code, body
}
