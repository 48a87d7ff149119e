package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/strata-platform/strata/operator/engine/sandbox"
)

// deployment is the state of a stack in pulumi's export format. deployment preserves
// fields that it does not name.
type deployment struct {
	whole     map[string]json.RawMessage
	inner     map[string]json.RawMessage
	resources []resource
	pending   []operation

	// project is the cloud project of providers whose inputs set none.
	project string
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
	data, _ := json.Marshal(value) // Strings and booleans always encode.
	r[field] = data
}

// operation is a pending operation: the step on a resource that an interrupted run did
// not finish.
type operation struct {
	Resource resource `json:"resource"`
	Type     string   `json:"type"`
}

// recover resolves the pending operations of an interrupted run. Pulumi itself treats a
// resource whose creation was interrupted as missing. Pulumi would therefore create the
// resource twice, or leave it behind in a destroy.
//
// If a resource's ID follows from its inputs, recover adds the resource to the state
// and refreshes it; the refresh removes the resource from the state again if it does
// not exist. For other resources, recover records a warning.
func (r *run) recover(ctx context.Context) error {
	if err := r.dropHalfWritten(); err != nil {
		return err
	}
	state, err := r.export(ctx)
	if reasonOf(err) == StackMissing {
		return nil
	}
	if err != nil {
		return err
	}
	undecided := state.undecided()
	if len(undecided) > maxPending {
		return r.failure(TooLarge, "an interrupted run has left %d resources in the stack's state unread, and %d can be looked into: read them by pulumi refresh", len(undecided), maxPending)
	}
	if len(state.pending) == 0 && len(undecided) == 0 && !state.own() {
		return nil
	}
	// This refresh reads the resources that the interrupted run was changing or deleting.
	// The refresh also takes the lock, which ensures that no other update is running.
	if err := r.refresh(ctx, append(undecided, state.interrupted()...)); err != nil {
		return err
	}
	if state, err = r.export(ctx); err != nil {
		return err
	}
	if adopted, creating := state.adopt(r.note, func(kind, id string) string { return r.holder(ctx, kind, id) }); creating {
		if err := r.replace(ctx, state); err != nil {
			return err
		}
		if len(adopted) > 0 {
			if err := r.refresh(ctx, adopted); err != nil {
				return err
			}
		}
		if state, err = r.export(ctx); err != nil {
			return err
		}
	}
	if !state.own() {
		return nil
	}
	return r.replace(ctx, state)
}

// note records a warning for the caller. note keeps at most maxWarnings.
func (r *run) note(format string, args ...any) {
	switch len(r.warnings) {
	case maxWarnings:
	case maxWarnings - 1:
		r.warnings = append(r.warnings, "there are more warnings, which are left out")
	default:
		r.warnings = append(r.warnings, shorten(r.mask.apply(fmt.Sprintf(format, args...))))
	}
}

// refresh refreshes the given resources. refresh always includes the stack itself,
// because pulumi refreshes all resources if it gets no target.
func (r *run) refresh(ctx context.Context, urns []string) error {
	args := []string{"refresh", "--skip-preview", "--suppress-progress", "--suppress-outputs", "--color", "never"}
	for _, urn := range append(urns, r.urn()) {
		args = append(args, "--target", urn)
	}
	_, err := r.pulumi(ctx, nil, args...)
	return err
}

// urn returns the URN of the stack's own resource.
func (r *run) urn() string {
	name := path.Base(r.Stack)
	return fmt.Sprintf("urn:pulumi:%s::%s::%s::%s-%s", name, r.Project, stackType, r.Project, name)
}

// cloudProject returns the Google Cloud project that the provider takes from the run's
// environment.
func (r *run) cloudProject() string {
	for _, name := range []string{"GOOGLE_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT"} {
		if project := sandbox.Value(r.env, name); project != "" {
			return project
		}
	}
	return ""
}

// export reads the stack's state.
func (r *run) export(ctx context.Context) (*deployment, error) {
	var data []byte
	take := func(in io.Reader) (err error) {
		if data, err = io.ReadAll(io.LimitReader(in, maxState+1)); err == nil && len(data) > maxState {
			err = exceeds("the stack's state is larger than %d bytes: %s", maxState, shrinkState)
		}
		return err
	}
	readErr, err := r.receive(ctx, take, func(ctx context.Context, path string) error {
		_, err := r.pulumi(ctx, nil, "stack", "export", "--stack", r.Stack, "--file", path)
		return err
	})
	if err != nil {
		return nil, err
	}
	if over := asExcess(readErr); over != nil {
		return nil, r.failure(TooLarge, "%s", over.message)
	}
	if readErr != nil {
		return nil, fmt.Errorf("export the state of stack %q: %w", r.Stack, readErr)
	}
	state := &deployment{project: r.cloudProject()}
	if err := state.decode(data); err != nil {
		return nil, fmt.Errorf("decode the state of stack %q: %w", r.Stack, err)
	}
	if len(state.pending) > maxPending {
		return nil, r.failure(TooLarge, "an interrupted run has left %d operations in the stack's state, and %d can be looked into: resolve them by pulumi refresh", len(state.pending), maxPending)
	}
	return state, nil
}

// shrinkState is the advice for a state that is too large.
const shrinkState = "remove what it need not hold by pulumi state delete, or split the stack"

// replace imports the state, without its pending operations.
func (r *run) replace(ctx context.Context, state *deployment) error {
	data, err := state.encode()
	if err != nil {
		return fmt.Errorf("encode the state of stack %q: %w", r.Stack, err)
	}
	_, err = r.pulumi(ctx, data, "stack", "import", "--stack", r.Stack)
	return err
}

func (d *deployment) decode(data []byte) error {
	if err := json.Unmarshal(data, &d.whole); err != nil {
		return err
	}
	return d.decodeInner(d.whole["deployment"])
}

// decodeInner decodes the deployment in the state.
func (d *deployment) decodeInner(data json.RawMessage) error {
	if data != nil && !bytes.Equal(data, []byte("null")) {
		if err := json.Unmarshal(data, &d.inner); err != nil {
			return err
		}
	}
	for field, into := range map[string]any{"resources": &d.resources, "pending_operations": &d.pending} {
		if raw := d.inner[field]; raw != nil {
			if err := json.Unmarshal(raw, into); err != nil {
				return fmt.Errorf("%s: %w", field, err)
			}
		}
	}
	return nil
}

func (d *deployment) encode() ([]byte, error) {
	resources, err := json.Marshal(d.resources)
	if err != nil {
		return nil, err
	}
	d.inner["resources"] = resources
	delete(d.inner, "pending_operations")
	if d.whole["deployment"], err = json.Marshal(d.inner); err != nil {
		return nil, err
	}
	return json.Marshal(d.whole)
}

// interrupted returns the URNs of the resources in the state that an interrupted run
// was changing, deleting or reading.
func (d *deployment) interrupted() []string {
	var urns []string
	for _, op := range d.pending {
		known := slices.ContainsFunc(d.resources, func(r resource) bool { return r.text("urn") == op.Resource.text("urn") })
		if op.Type != "creating" && known {
			urns = append(urns, op.Resource.text("urn"))
		}
	}
	return urns
}

// undecided returns the URNs of the resources that an earlier run adopted and did not
// refresh before it was interrupted.
func (d *deployment) undecided() []string {
	var urns []string
	for _, r := range d.resources {
		if r.yes("custom") && unread(r) && objectID(r, d.projectOf(r)) != "" {
			urns = append(urns, r.text("urn"))
		}
	}
	return urns
}

// adopt adds the resources whose creation was interrupted to the state if their ID is known, and returns their URNs. An
// object that another stack has stays out: holder returns the team of that stack. creating reports whether any creation was
// interrupted.
func (d *deployment) adopt(note func(string, ...any), holder func(kind, id string) string) (urns []string, creating bool) {
	for _, op := range d.pending {
		if op.Type != "creating" {
			continue
		}
		creating = true
		created := op.Resource
		urn, id := created.text("urn"), ""
		if created.yes("custom") {
			id = objectID(created, d.projectOf(created))
		}
		if !created.yes("custom") || leavesNothing(created.text("type")) {
			continue
		}
		held := ""
		if id != "" {
			held = holder(created.text("type"), id)
		}
		switch {
		case id == "":
			note("the creation of %s was cut off, and whether it was made cannot be found out: look for one that the state does not know, and delete it", resourceName(urn))
		case held != "":
			note("the creation of %s was cut off, and what has its name is of another stack, in %s: it is left alone; give this one another name",
				resourceName(urn), held)
		default:
			d.take(created, id)
			urns = append(urns, urn)
			note("the creation of %s was cut off: what is there of it is taken over", resourceName(urn))
		}
	}
	return urns, creating
}

// take adds a resource to the state. If the state has a resource of the same URN that
// the new one replaces, take marks it for deletion, or drops it if pulumi has deleted
// it already.
func (d *deployment) take(created resource, id string) {
	urn := created.text("urn")
	d.resources = slices.DeleteFunc(d.resources, func(r resource) bool {
		return r.text("urn") == urn && r.yes("pendingReplacement")
	})
	at := len(d.resources)
	for i, r := range d.resources {
		if r.text("urn") == urn && !r.yes("delete") {
			// Pulumi lists the replacement before the resource that it replaces.
			r.set("delete", true)
			at = i
		}
	}
	created.set("id", id)
	delete(created, "outputs")
	d.resources = slices.Insert(d.resources, at, created)
}

// projectOf returns the cloud project of a resource's provider.
func (d *deployment) projectOf(r resource) string {
	reference := r.text("provider")
	for _, p := range d.resources {
		if p.text("urn")+"::"+p.text("id") != reference {
			continue
		}
		var in inputs
		if json.Unmarshal(p["inputs"], &in) == nil && in.text("project") != "" {
			return in.text("project")
		}
	}
	return d.project
}
