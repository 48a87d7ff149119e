package events

import "strings"

// mostChanged bounds the changes that a [Log] keeps.
const mostChanged = 100

// Change is a resource that the operation has changed.
type Change struct {
	// Op is the step that Pulumi took: create, update, delete and so on.
	Op string

	// Name is the resource's name in its program, Type its type, and ID its ID in Google Cloud or Kubernetes; empty elsewhere.
	Name, Type, ID string
}

// changed collects the changes of an operation.
type changed struct {
	found []Change
	more  int
}

// outcome holds the fields of a resOutputsEvent that changed reads.
type outcome struct {
	URN  string `json:"urn"`
	Op   string `json:"op"`
	Type string `json:"type"`
	Old  *named `json:"old"`
}

type named struct {
	ID string `json:"id"`
}

// note records the outcome of a step. id is the ID of the new resource.
func (c *changed) note(o outcome, id string) {
	switch o.Op {
	case "", unchanged, "read", "refresh", "read-replacement", "discard", "discard-replaced", "remove-pending-replace":
		return
	}
	if o.Type == stackType || inStateOnly(o.Type) {
		return
	}
	if len(c.found) == mostChanged {
		c.more++
		return
	}
	if id == "" && o.Old != nil {
		id = o.Old.ID
	}
	if !strings.HasPrefix(o.Type, "gcp:") && !strings.HasPrefix(o.Type, "kubernetes:") {
		id = "" // The ID of a random string is its value.
	}
	name, _, _ := strings.Cut(ResourceName(o.URN), " (")
	c.found = append(c.found, Change{Op: cut(o.Op), Name: cut(name), Type: cut(o.Type), ID: cut(id)})
}

// Changed returns the resources that the operation has changed, at most 100, and how many more. The operation may have failed. Call Changed
// after Read has returned.
func (l *Log) Changed() (found []Change, more int) { return l.changed.found, l.changed.more }
