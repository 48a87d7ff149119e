// Package pending settles what a run of Pulumi that was killed left open in a stack's state.
//
// The engine notes an operation in the state before it begins and takes the note away when it is done. A run that is
// killed leaves notes. Of an update or a deletion nothing is lost: the resource is in the state, and the next run does it
// again. Of a creation it is not known whether there is an object now, and the engine keeps the note for people to
// resolve (`pulumi refresh`). Until they do, the next run makes the object again: where its name is taken, the service
// refuses; where it is not, there are two.
//
// Here a creation is settled by the ID that the object has if it exists: with it the resource is put into the state, and
// a refresh of it tells whether it is there. Where the ID does not follow from the inputs, the note is dropped and the
// creation tried again.
package pending

import (
	"encoding/json"
	"fmt"
)

// Creation is the creation of a resource that was cut off.
type Creation struct {
	// URN is the resource's, Type its type token, such as "gcp:container/cluster:Cluster".
	URN, Type string
	// Inputs are what the object was to be made of; what is secret is encrypted.
	Inputs map[string]any
	// ID is what the provider calls the object if it exists; empty where that does not follow from the inputs, or where
	// the stack has the resource already, as in the middle of a replacement.
	ID string
}

// State is the state of a stack as `pulumi stack export` prints it within "deployment". What this package does not know
// of it stays as it is.
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

// Parse reads a stack's state.
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

// Interrupted tells whether a run left operations open.
func (s *State) Interrupted() bool { return len(s.pending) > 0 }

// Resources is the number of resources in the state, the stack itself and components among them.
func (s *State) Resources() int { return len(s.resources) }

// Has tells whether the state has a resource.
func (s *State) Has(urn string) bool { return s.known[urn] }

// Holds tells whether the state has a resource by the ID that its provider gave it.
func (s *State) Holds(id string) bool { return s.ids[id] }

// Settle drops all open operations. The creations that have an ID it puts into the state, and returns their URNs: a
// refresh has to tell which of them exist. For what is destroyed next, nobody has to: to delete what is not there is no
// error.
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
		// What the provider has not told yet, it tells when the resource is refreshed.
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

// Creations are the creations that were cut off.
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

// creation reads the resource of an operation, and returns its fields as they stand in the state, too.
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

// MarshalJSON writes the state as `pulumi stack import` takes it within "deployment".
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
