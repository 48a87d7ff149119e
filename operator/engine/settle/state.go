package settle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// NotRead is the init error of a resource that this package has added to the state and not refreshed yet. Pulumi removes
// init errors when a refresh succeeds.
const NotRead = "the creation was interrupted, and nothing has read the object since"

const (
	opCreating = "creating"

	stackType = "pulumi:pulumi:Stack"
)

// State is the state of a stack. It preserves fields that this package does not know.
type State struct {
	whole     map[string]json.RawMessage
	inner     map[string]json.RawMessage
	resources []resource
	pending   []operation

	// projects maps references to providers to their Google Cloud projects. project is the project of all other providers.
	projects map[string]string
	project  string
}

func newState(project string) *State { return &State{projects: map[string]string{}, project: project} }

// operation is a pending operation: the step on a resource that a killed run did not finish.
type operation struct {
	Resource resource `json:"resource"`
	Type     string   `json:"type"`
}

// resource is a resource of the state, as a map from field names to values.
type resource map[string]json.RawMessage

func (r resource) text(field string) string {
	var s string
	_ = json.Unmarshal(r[field], &s) // A field that is not a string leaves s empty.
	return s
}

func (r resource) yes(field string) bool { return string(r[field]) == "true" }

func (r resource) set(field string, value any) {
	data, _ := json.Marshal(value) // Strings, lists of strings and booleans always encode.
	r[field] = data
}

// object returns a field that is an object, such as the inputs. Secrets within it are encrypted.
func (r resource) object(field string) map[string]any {
	var object map[string]any
	_ = json.Unmarshal(r[field], &object) // A field that is not an object leaves the map empty.
	return object
}

// notRead reports whether this package added the resource to the state and has not refreshed it.
func (r resource) notRead() bool {
	var faults []string
	_ = json.Unmarshal(r["initErrors"], &faults) // Other init errors are strings, too.
	return slices.Contains(faults, NotRead)
}

// parse decodes the output of `pulumi stack export`. project is the Google Cloud project of providers whose inputs set none.
func parse(exported []byte, project string) (*State, error) {
	s := newState(project)
	if err := json.Unmarshal(exported, &s.whole); err != nil {
		return nil, fmt.Errorf("decode the state of the stack: %w", err)
	}
	return s, s.decode(s.whole["deployment"])
}

// ParseDeployment decodes a deployment: the field "deployment" in the output of `pulumi stack export`, and the field
// "latest" of the checkpoint in a file backend. An empty deployment is an empty state.
func ParseDeployment(deployment []byte) (*State, error) {
	s := newState("")
	return s, s.decode(deployment)
}

func (s *State) decode(deployment []byte) error {
	if len(deployment) > 0 && !bytes.Equal(deployment, []byte("null")) {
		if err := json.Unmarshal(deployment, &s.inner); err != nil {
			return fmt.Errorf("decode the state of the stack: %w", err)
		}
	}
	for field, into := range map[string]any{"resources": &s.resources, "pending_operations": &s.pending} {
		if raw := s.inner[field]; raw != nil {
			if err := json.Unmarshal(raw, into); err != nil {
				return fmt.Errorf("decode the state of the stack: %s: %w", field, err)
			}
		}
	}
	for _, r := range s.resources {
		s.learn(r)
	}
	return nil
}

// encode encodes the state without its pending operations.
func (s *State) encode() ([]byte, error) {
	resources, err := json.Marshal(s.resources)
	if err != nil {
		return nil, err
	}
	s.inner["resources"] = resources
	delete(s.inner, "pending_operations")
	if s.whole["deployment"], err = json.Marshal(s.inner); err != nil {
		return nil, err
	}
	return json.Marshal(s.whole)
}

// Interrupted reports whether a killed run left operations pending.
func (s *State) Interrupted() bool { return len(s.pending) > 0 }

// Unsettled reports whether [Settler.Settle] has work to do: a killed run left operations pending, or a killed call of
// Settle did not finish.
func (s *State) Unsettled() bool {
	return s.Interrupted() || slices.ContainsFunc(s.resources, func(r resource) bool { return r.notRead() || r.creator() != "" })
}

// Has reports whether the state has a resource with this URN.
func (s *State) Has(urn string) bool {
	return slices.ContainsFunc(s.resources, func(r resource) bool { return r.text("urn") == urn })
}

// Outputs returns the outputs of the stack. Secrets are encrypted.
func (s *State) Outputs() map[string]any {
	for _, r := range s.resources {
		if r.text("type") == stackType {
			return r.object("outputs")
		}
	}
	return nil
}

// holdsID reports whether the state has a resource with this ID.
func (s *State) holdsID(id string) bool {
	return slices.ContainsFunc(s.resources, func(r resource) bool { return r.text("id") == id })
}

// object identifies an object by the type of its resource and its ID.
type object struct{ typ, id string }

// objects returns the objects of the state, except those that Pulumi has deleted and is about to replace.
func (s *State) objects() map[object]bool {
	found := map[object]bool{}
	for _, r := range s.resources {
		if !r.yes("pendingReplacement") {
			typ := r.text("type")
			found[object{typ, r.text("id")}], found[object{typ, s.idOf(r)}] = true, true
		}
	}
	return found
}

// stack returns the URN of the stack itself, or an empty string if the state does not have it.
func (s *State) stack() string {
	for _, r := range s.resources {
		if r.text("type") == stackType {
			return r.text("urn")
		}
	}
	return ""
}

// unfinished returns the URNs of resources in the state that a refresh has to read: those that a killed run was changing,
// deleting or reading, and those that an earlier call of Settle added and did not refresh.
func (s *State) unfinished() []string {
	known, urns := map[string]bool{}, []string{}
	for _, r := range s.resources {
		urn := r.text("urn")
		known[urn] = true
		if r.notRead() && !composites[r.text("type")] {
			urns = append(urns, urn)
		}
	}
	for _, op := range s.pending {
		if urn := op.Resource.text("urn"); op.Type != opCreating && !composites[op.Resource.text("type")] && known[urn] {
			urns = append(urns, urn)
		}
	}
	return urns
}

// forget removes composites that were added to the state for a destroy, unless a destroy follows. The next run creates
// them again. forget reports whether it removed any.
func (s *State) forget(destroys bool) bool {
	before := len(s.resources)
	if !destroys {
		s.resources = slices.DeleteFunc(s.resources, func(r resource) bool { return r.notRead() && composites[r.text("type")] })
	}
	return len(s.resources) < before
}

// add adds a resource that may exist under this ID. If the state has a resource of the same URN that the new one replaces,
// add marks that resource for deletion, or removes it if Pulumi has deleted its object already.
func (s *State) add(created resource, id string) {
	urn := created.text("urn")
	s.resources = slices.DeleteFunc(s.resources, func(r resource) bool {
		return r.text("urn") == urn && r.yes("pendingReplacement")
	})
	at := len(s.resources)
	for i, r := range s.resources {
		if r.text("urn") == urn && !r.yes("delete") {
			// Pulumi lists the replacement before the resource that it replaces.
			r.set("delete", true)
			at = i
		}
	}
	created.set("id", id)
	created.set("initErrors", []string{NotRead})
	// Providers find an object by its outputs, which include the inputs. Some properties, such as the protection from
	// deletion, exist only there.
	created["outputs"] = created["inputs"]
	s.resources = slices.Insert(s.resources, at, created)
}

// Creation is an interrupted creation of a resource.
type Creation struct {
	// URN is the resource's URN. Type is its type token, such as "gcp:container/cluster:Cluster".
	URN, Type string

	// Inputs are the inputs of the creation. Secrets are encrypted.
	Inputs map[string]any

	// ID is the provider's ID of the object if the object exists. It is empty if the inputs do not determine it.
	ID string
}

func (s *State) creations() []Creation {
	var list []Creation
	for _, op := range s.pending {
		if r := op.Resource; op.Type == opCreating && r.yes("custom") {
			list = append(list, Creation{URN: r.text("urn"), Type: r.text("type"), Inputs: r.object("inputs"), ID: s.idOf(r)})
		}
	}
	return list
}
