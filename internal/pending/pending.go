// Package pending settles the operations that a killed run of Pulumi left pending in a stack's state.
//
// The engine records an operation in the state before it starts, and removes the record when the operation is done. A
// killed run leaves records. A pending update or deletion loses nothing: the resource is in the state, and the next run
// repeats the operation. After a pending creation, nobody knows whether the object exists, and the engine keeps the
// record for people to resolve (`pulumi refresh`). Until they do, the next run creates the object again: the service
// refuses a name that is taken, and otherwise there are two objects.
//
// This package settles a creation by the ID that the object has if it exists. It adds the resource to the state with that
// ID, and a refresh of the resource tells whether the object exists. If the inputs do not determine the ID, this package
// removes the record, and the next run tries the creation again.
package pending

import (
	"encoding/json"
	"fmt"
)

// Creation is an interrupted creation of a resource.
type Creation struct {
	// URN is the resource's URN. Type is its type token, such as "gcp:container/cluster:Cluster".
	URN, Type string
	// Inputs are the inputs of the creation; secrets are encrypted.
	Inputs map[string]any
	// ID is the provider's ID of the object if the object exists. It is empty if the inputs do not determine it, or if
	// the stack already has the resource, as in the middle of a replacement.
	ID string
}

// State is the state of a stack in the form of "deployment" in the output of `pulumi stack export`. It preserves fields
// that this package does not know.
type State struct {
	fields    map[string]json.RawMessage
	resources []json.RawMessage
	pending   []operation
	known     map[string]bool // the URNs of the resources
	ids       map[string]bool // their IDs
}

type operation struct {
	Type     string          `json:"type"`
	Resource json.RawMessage `json:"resource"`
}

// Parse decodes a stack's state.
func Parse(deployment json.RawMessage) (*State, error) {
	s := &State{known: map[string]bool{}, ids: map[string]bool{}}
	if len(deployment) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(deployment, &s.fields); err != nil {
		return nil, fmt.Errorf("read the stack's state: %w", err)
	}
	for name, into := range map[string]any{"resources": &s.resources, "pending_operations": &s.pending} {
		if raw, ok := s.fields[name]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return nil, fmt.Errorf("read the stack's state: %s: %w", name, err)
			}
		}
	}
	for _, raw := range s.resources {
		var r struct {
			URN string `json:"urn"`
			ID  string `json:"id"`
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			return nil, fmt.Errorf("read the stack's state: resources: %w", err)
		}
		s.known[r.URN], s.ids[r.ID] = true, true
	}
	return s, nil
}

// Interrupted reports whether a run left operations pending.
func (s *State) Interrupted() bool { return len(s.pending) > 0 }

// Resources returns the number of resources in the state, including the stack itself and components.
func (s *State) Resources() int { return len(s.resources) }

// Has reports whether the state has a resource with this URN.
func (s *State) Has(urn string) bool { return s.known[urn] }

// Holds reports whether the state has a resource with this ID, which its provider gave it.
func (s *State) Holds(id string) bool { return s.ids[id] }

// Settle removes all pending operations. It adds the creations that have an ID to the state, and returns their URNs, so
// that a refresh can find out which of them exist. If destroyed is true, the stack is destroyed next and needs no such
// refresh: deleting an object that does not exist is no error.
func (s *State) Settle(destroyed bool) (adopted []string, err error) {
	for _, o := range s.pending {
		if o.Type != "creating" {
			continue
		}
		c, fields, err := s.creation(o.Resource)
		if err != nil {
			return nil, err
		}
		if c.ID == "" || repeatable[c.Type] && !destroyed {
			continue
		}
		if fields["id"], err = json.Marshal(c.ID); err != nil {
			return nil, err
		}
		// A refresh of the resource reads the outputs that the provider has not returned yet.
		if fields["outputs"] == nil {
			fields["outputs"] = fields["inputs"]
		}
		raw, err := json.Marshal(fields)
		if err != nil {
			return nil, err
		}
		s.resources = append(s.resources, raw)
		s.known[c.URN] = true
		adopted = append(adopted, c.URN)
	}
	s.pending = nil
	return adopted, nil
}

// Creations returns the interrupted creations.
func (s *State) Creations() ([]Creation, error) {
	var list []Creation
	for _, o := range s.pending {
		if o.Type != "creating" {
			continue
		}
		c, _, err := s.creation(o.Resource)
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

// creation decodes the resource of an operation, and also returns its raw fields from the state.
func (s *State) creation(raw json.RawMessage) (Creation, map[string]json.RawMessage, error) {
	var r struct {
		URN    string         `json:"urn"`
		Type   string         `json:"type"`
		Custom bool           `json:"custom"`
		Inputs map[string]any `json:"inputs"`
	}
	var fields map[string]json.RawMessage
	err := json.Unmarshal(raw, &r)
	if err == nil {
		err = json.Unmarshal(raw, &fields)
	}
	if err != nil {
		return Creation{}, nil, fmt.Errorf("read the stack's state: pending_operations: %w", err)
	}
	c := Creation{URN: r.URN, Type: r.Type, Inputs: r.Inputs}
	if r.Custom && !s.known[r.URN] {
		c.ID = ID(r.Type, r.Inputs)
	}
	return c, fields, nil
}

// MarshalJSON encodes the state in the form of "deployment" in the input of `pulumi stack import`.
func (s *State) MarshalJSON() ([]byte, error) {
	fields := map[string]json.RawMessage{}
	for name, raw := range s.fields {
		if name != "pending_operations" && name != "resources" {
			fields[name] = raw
		}
	}
	for name, value := range map[string]any{"resources": s.resources, "pending_operations": s.pending} {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		if string(raw) != "null" {
			fields[name] = raw
		}
	}
	return json.Marshal(fields)
}
