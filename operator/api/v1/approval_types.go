package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StackApproval is the approval of an update or a destroy. The Stack waits for the approval while by is empty.
type StackApproval struct {
	// plan is the name of the Plan. It is empty if an Approval names the Stack itself.
	// +optional
	Plan string `json:"plan,omitempty"`

	// digest is the digest of the Plan.
	// +optional
	Digest string `json:"digest,omitempty"`

	// message says in one line why the Stack waits: what would happen, or what has changed since
	// an earlier approval.
	// +optional
	Message string `json:"message,omitempty"`

	// by is the name of the user who approved.
	// +optional
	By string `json:"by,omitempty"`

	// time is the time of the approval, or the time since which the Stack waits.
	Time metav1.Time `json:"time"`
}
