package auditlog

import (
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/core/authz"
)

// Bounds of the texts of an entry, in bytes. Callers choose most of them.
const (
	longestName    = 1024
	longestClaim   = 256
	longestMessage = 512
)

// Audited reports whether the log records the calls of a route: those that change a resource.
func Audited(found api.Match) bool {
	if found.Route == nil || found.Route.Method == http.MethodGet || found.Route.Method == http.MethodHead {
		return false
	}
	permission := found.Route.Permission
	verb := permission[strings.LastIndexByte(permission, '.')+1:]
	switch {
	case permission == "", slices.Contains([]string{"get", "list", "getIamPolicy"}, verb):
		return false
	case strings.HasPrefix(permission, "storage.objects."), strings.HasPrefix(verb, "useTo"), slices.Contains([]string{"getAccessToken", "getOpenIdToken"}, verb):
		return false // Google records the contents of objects, the use of keys and tokens of accounts as Data Access.
	}
	return true
}

// Call is a call that has ended.
type Call struct {
	Match api.Match
	Made  *api.Call
	// On is the resource of the permission check. Grant is the binding that granted the permission, or nil.
	On    api.Resource
	Grant *authz.Grant
	// Err is the error of the call.
	Err error
	// Began and Now are the times of the emulator.
	Began, Now time.Time
}

// Record writes the entry of a call.
func (l *Log) Record(c Call) error {
	r := c.Made.Request
	route := c.Match.Route
	name := bounded(resourceName(c), longestName)
	e := &Entry{
		InsertID: api.Hash(api.RandomText(16))[:16],
		LogName:  "projects/" + c.Made.ProjectID() + "/logs/cloudaudit.googleapis.com%2Factivity",
		Payload: Payload{
			Type:           payloadType,
			Authentication: Authentication{PrincipalEmail: c.Made.Who.Email},
			MethodName:     methodName(c),
			Metadata: RequestMetadata{
				CallerIP: callerIP(r), UserAgent: bounded(r.UserAgent(), longestClaim),
				Attributes: Attributes{Reason: bounded(r.Header.Get("X-Goog-Request-Reason"), longestClaim), Time: c.Began.UTC()},
			},
			ResourceName: name,
			ServiceName:  serviceName(c.Match.Service),
			Status:       statusOf(c.Err),
		},
		ReceiveTimestamp: c.Now.UTC(),
		Resource:         monitored(c, name),
		Severity:         "NOTICE",
		Timestamp:        c.Now.UTC(),
	}
	if on := onName(c.On); on != "" { // else the call failed before its permission check
		e.Payload.Authorization = []Authorization{{Granted: c.Grant != nil, Permission: route.Permission, Resource: bounded(on, longestName)}}
	}
	if c.Made.Who.Email == "" {
		e.Payload.Authentication.PrincipalSubject = bounded(c.Made.Who.Member, longestName)
	}
	if c.Grant != nil {
		e.Labels = map[string]string{RoleLabel: c.Grant.Role, PolicyLabel: c.Grant.Policy}
	}
	if c.Err != nil {
		e.Severity = "ERROR"
	}
	return l.write(e)
}

// onName returns the name of a resource in a permission check.
func onName(on api.Resource) string {
	if on.Path != "" {
		return on.Path
	}
	return on.Name
}

func callerIP(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return "" // a call by gRPC
	}
	return host
}

// codes are the codes of google.rpc.Code of HTTP statuses.
var codes = map[int]int{
	http.StatusBadRequest: 3, http.StatusUnauthorized: 16, http.StatusForbidden: 7, http.StatusNotFound: 5, http.StatusConflict: 6,
	http.StatusPreconditionFailed: 9, http.StatusTooManyRequests: 8, http.StatusNotImplemented: 12, http.StatusServiceUnavailable: 14,
}

// internalCode is the code for every other status.
const internalCode = 13

// statusOf returns the status of a call. Only the messages about names and permissions are kept: that of an invalid request may repeat
// a part of the request, such as a password.
func statusOf(err error) Status {
	if err == nil {
		return Status{}
	}
	refusal, ok := errors.AsType[*api.Error](err)
	if !ok {
		return Status{Code: internalCode, Message: "INTERNAL"}
	}
	code, known := codes[refusal.Code]
	if !known {
		code = internalCode
	}
	switch refusal.Code {
	case http.StatusForbidden, http.StatusNotFound, http.StatusConflict:
		return Status{Code: code, Message: bounded(refusal.Message, longestMessage)}
	}
	return Status{Code: code, Message: http.StatusText(refusal.Code)}
}

// bounded returns a text as valid UTF-8 of at most a number of bytes.
func bounded(text string, most int) string {
	if len(text) > most {
		text = text[:most]
	}
	return strings.ToValidUTF8(text, "")
}
