// Package auditlog writes the audit log of the emulated Google Cloud, in the format of Cloud Audit Logs.
//
// It records the calls that Google records as Admin Activity: every call that changes a resource, whether it succeeds or fails. It
// records neither reads nor the contents of objects, the use of keys and the tokens of accounts, which Google records as Data Access,
// and nothing without a login.
package auditlog

import "time"

// Entry is a LogEntry of Cloud Logging whose payload is an AuditLog. Its JSON form has Google's fields.
type Entry struct {
	InsertID         string            `json:"insertId"`
	Labels           map[string]string `json:"labels,omitempty"`
	LogName          string            `json:"logName"`
	Payload          Payload           `json:"protoPayload"`
	ReceiveTimestamp time.Time         `json:"receiveTimestamp"`
	Resource         Resource          `json:"resource"`
	Severity         string            `json:"severity"`
	Timestamp        time.Time         `json:"timestamp"`
}

// Labels of an entry. They name the binding that granted the permission of a call, which Google's format has no field for.
const (
	RoleLabel   = "strata.dev/role"
	PolicyLabel = "strata.dev/policy"
)

// payloadType is the type of the payload of an entry.
const payloadType = "type.googleapis.com/google.cloud.audit.AuditLog"

// Payload is an AuditLog. It has no request and no response, because both may contain passwords and keys.
type Payload struct {
	Type           string          `json:"@type"`
	Authentication Authentication  `json:"authenticationInfo"`
	Authorization  []Authorization `json:"authorizationInfo,omitempty"`
	MethodName     string          `json:"methodName"`
	Metadata       RequestMetadata `json:"requestMetadata"`
	ResourceName   string          `json:"resourceName"`
	ServiceName    string          `json:"serviceName"`
	Status         Status          `json:"status"`
}

// Authentication is who has called: a user or a service account by its e-mail address, another principal by its subject.
type Authentication struct {
	PrincipalEmail   string `json:"principalEmail,omitempty"`
	PrincipalSubject string `json:"principalSubject,omitempty"`
}

// Authorization is the check of one permission.
type Authorization struct {
	Granted    bool   `json:"granted,omitempty"`
	Permission string `json:"permission"`
	Resource   string `json:"resource"`
}

// RequestMetadata is what the client sends about itself: it is a claim. The address and the time are the emulator's.
type RequestMetadata struct {
	CallerIP   string     `json:"callerIp,omitempty"`
	UserAgent  string     `json:"callerSuppliedUserAgent,omitempty"`
	Attributes Attributes `json:"requestAttributes"`
}

// Attributes are the time of the request, and the reason in its header X-Goog-Request-Reason.
type Attributes struct {
	Reason string    `json:"reason,omitempty"`
	Time   time.Time `json:"time"`
}

// Status is the end of a call, by a code of google.rpc.Code. Code 0 is success.
type Status struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// Resource is the monitored resource of an entry.
type Resource struct {
	Labels map[string]string `json:"labels"`
	Type   string            `json:"type"`
}

// Principal returns the e-mail address of the caller, or the subject of a caller without one.
func (e *Entry) Principal() string {
	if e.Payload.Authentication.PrincipalEmail != "" {
		return e.Payload.Authentication.PrincipalEmail
	}
	return e.Payload.Authentication.PrincipalSubject
}
