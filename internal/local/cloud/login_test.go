package cloud_test

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// TestNothingAnswersWithoutALogin makes every call of the router, and requests outside the router, without credentials
// and with invalid ones.
func TestNothingAnswersWithoutALogin(t *testing.T) {
	c := newEmulator(t, false)
	c.newBucket(c.storageAs(c.engineer), "strata-open")
	var requests [][2]string
	for _, route := range c.Routes() {
		method, path := exampleOf(route, func(name string) string {
			switch name {
			case "{project}":
				return projectID
			case "{bucket}", "{toBucket}":
				return "strata-open"
			}
			return "none"
		})
		requests = append(requests, [2]string{method, path})
	}
	for _, path := range []string{"/", "/token", "/batch", "/healthz", "/debug/pprof/", "/metrics", "/strata-open", "/strata-open/x", "/compute/", "/$discovery/rest"} {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE", "OPTIONS", "TRACE"} {
			requests = append(requests, [2]string{method, path})
		}
	}
	before, err := c.Fingerprint()
	if err != nil {
		t.Fatal(err)
	}
	for _, request := range requests {
		for _, credentials := range []string{"", "Bearer ", "Bearer x", "Bearer a.b.c", "Basic cm9vdDo=", "bearer ya29.emulated-"} {
			r := httptest.NewRequest(request[0], request[1], strings.NewReader("{}"))
			if credentials != "" {
				r.Header.Set("Authorization", credentials)
			}
			answer := httptest.NewRecorder()
			c.ServeHTTP(answer, r)
			if answer.Code < 400 || answer.Code >= 500 {
				t.Errorf("the response to %s %s with %q is %d %s", request[0], request[1], credentials, answer.Code, answer.Body)
			}
		}
	}
	if after, err := c.Fingerprint(); err != nil || after != before {
		t.Errorf("a request without a login changed the store: %v", err)
	}
}
