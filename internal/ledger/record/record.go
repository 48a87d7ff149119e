// Package record contains what the entries of a platform's ledger say. Most texts come from teams: escape them before they are shown.
package record

import "time"

// Kinds of entries.
const (
	// Push is an accepted push: a receipt.Push.
	Push = "push"
	// Run is the begin or the end of a run: a runrecord.Run.
	Run = "run"
	// CloudCall is a call to Google Cloud: a [Call].
	CloudCall = "call"
	// ObjectWrite is a write of an object of Kubernetes: a [Write].
	ObjectWrite = "write"
	// Omitted counts calls and writes that have no entries: a [Gap].
	Omitted = "omitted"
)

// Chains of the layers. The chain of a team has the name of its namespace.
const (
	Bootstrap = "bootstrap"
	Platform  = "platform"
	Sync      = "sync"
	// Other is the chain of Google accounts that belong to no layer, such as that of the nodes.
	Other = "other"
)

// Call is a call in the audit log of Google Cloud.
type Call struct {
	Time time.Time `json:"time"`
	// InsertID identifies the LogEntry, and Digest is the SHA-256 digest of its line.
	InsertID string `json:"insertId"`
	Digest   string `json:"digest"`

	Principal string `json:"principal"`
	Service   string `json:"service"`
	Method    string `json:"method"`
	Resource  string `json:"resource"`
	// Code is a code of google.rpc.Code; 0 is success.
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`

	// Permission is the permission that the call needs, and Role the role that the policy of the resource Policy granted it by.
	Permission string `json:"permission,omitempty"`
	Role       string `json:"role,omitempty"`
	Policy     string `json:"policy,omitempty"`

	// Reason and UserAgent are claims of the client.
	Reason    string `json:"reason,omitempty"`
	UserAgent string `json:"userAgent,omitempty"`
}

// Write is a write of an object in the audit log of Kubernetes.
type Write struct {
	Time time.Time `json:"time"`
	// AuditID identifies the event, and Digest is the SHA-256 digest of its line.
	AuditID string `json:"auditId"`
	Digest  string `json:"digest"`

	User string `json:"user"`
	// By is the user that impersonated User; empty if nobody did.
	By   string `json:"by,omitempty"`
	Verb string `json:"verb"`
	// Resource is the plural of the kind, with the API group: "stacks.pulumi.com".
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`

	// Token identifies the token of the user, and Grant is the RBAC binding that allowed the write.
	Token     string `json:"token,omitempty"`
	Grant     string `json:"grant,omitempty"`
	UserAgent string `json:"userAgent,omitempty"`
}

// Gap says that a chain has had too many calls and writes since From. Until is empty in the first entry of a gap, and Count in it is 0.
type Gap struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero"`
	Count int       `json:"count"`
}
