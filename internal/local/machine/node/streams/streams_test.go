package streams

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// pods are the pods of a test: the error of each pod's containers by the pod's name.
type pods map[string]error

func (p pods) find(_, name string) Pod {
	err, ok := p[name]
	if !ok {
		return nil
	}
	return failing{err}
}

// failing is a pod whose containers nobody can use.
type failing struct{ err error }

func (f failing) Interactive(string) (runtime.Interactive, error) { return nil, f.err }

func (f failing) Forward() (func(context.Context, int32) (net.Conn, error), error) {
	if f.err == nil {
		return func(context.Context, int32) (net.Conn, error) { return nil, errors.New("no server") }, nil
	}
	return nil, f.err
}

func TestCallsWithoutASessionSayWhy(t *testing.T) {
	s := New(pods{"process": errors.ErrUnsupported, "waiting": runtime.ErrNotRunning, "other": runtime.ErrNoContainer, "ready": nil}.find)
	t.Cleanup(s.Close)
	mux := http.NewServeMux()
	s.Register(mux)
	for call, want := range map[string]struct {
		code int
		text string
	}{
		"POST /exec/ns/process/main?command=id&output=1":    {http.StatusNotImplemented, NoExec},
		"GET /attach/ns/process/main?output=1":              {http.StatusNotImplemented, NoAttach},
		"POST /portForward/ns/process":                      {http.StatusNotImplemented, NoPortForward},
		"POST /exec/ns/waiting/main?command=id&output=1":    {http.StatusBadRequest, `container "main" of pod "waiting": it is not running`},
		"POST /portForward/ns/waiting":                      {http.StatusBadRequest, `pod "waiting": it is not running`},
		"POST /exec/ns/other/..%2fx?command=id&output=1":    {http.StatusNotFound, `container "../x" of pod "other": the pod has no such container`},
		"POST /exec/ns/nobody/main?command=id&output=1":     {http.StatusNotFound, `pod "nobody" of namespace "ns" does not run on this node`},
		"POST /exec/ns/ready/main?output=1":                 {http.StatusBadRequest, "give a command"},
		"POST /exec/ns/ready/main?command=id":               {http.StatusBadRequest, "at least one of the streams"},
		"POST /exec/ns/ready/main?command=id&tty=1&error=1": {http.StatusBadRequest, "at least one of the streams"},
		"DELETE /exec/ns/ready/main":                        {http.StatusMethodNotAllowed, ""},
	} {
		method, path, _ := strings.Cut(call, " ")
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, path, nil))
		if text := answer.Body.String(); answer.Code != want.code || !strings.Contains(text, want.text) {
			t.Errorf("%s: the answer is %d %q, want %d with %q", call, answer.Code, text, want.code, want.text)
		}
	}
}

func TestAClosedServerAndAFullOneAcceptNoSession(t *testing.T) {
	s := New(pods{"ready": nil}.find)
	mux := http.NewServeMux()
	s.Register(mux)
	call := func() int {
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/portForward/ns/ready", nil))
		return answer.Code
	}
	for range maxSessions {
		s.slots <- struct{}{}
	}
	if code := call(); code != http.StatusTooManyRequests {
		t.Errorf("a full server answers %d", code)
	}
	for range maxSessions {
		<-s.slots
	}
	s.Close()
	if code := call(); code != http.StatusServiceUnavailable {
		t.Errorf("a closed server answers %d", code)
	}
}
