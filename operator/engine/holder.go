package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/operator/untrusted"
)

// Bounds of the search of one team's states for a run of another team. Where a folder
// exceeds them, the rest is not searched: other teams may then take over objects in those
// states.
const (
	maxStateFiles = 50_000
	maxStateDepth = 16
	maxStateBytes = 32 << 20

	// maxHeld is how many resources of one state are looked at. A state of maxState could
	// hold millions of empty ones, which take seconds and gigabytes to decode.
	maxHeld = 20_000

	// maxProviders is how many providers of one state are asked for their cloud project.
	// Each resource looks for its own among them.
	maxProviders = 32
)

// holder returns the folder below StateRoot of a team one of whose other stacks has an object in its state, empty where
// none has it, as far as can be told. Objects have names that others can give to theirs, too: what is there after a
// creation was cut off need not be what was being made.
func (r *run) holder(ctx context.Context, kind, id string) string {
	if r.StateRoot == "" || !r.local {
		return ""
	}
	own, err := filepath.Rel(r.StateRoot, filepath.Join(r.BackendFolder, r.stateFolder))
	if err != nil {
		return ""
	}
	own = path.Join(filepath.ToSlash(own), ".pulumi", "stacks", r.Project, r.stackBase()+".json")
	// Runs do not write to StateRoot itself.
	teams, err := os.ReadDir(r.StateRoot)
	if err != nil {
		return ""
	}
	for _, team := range teams {
		if team.IsDir() && ctx.Err() == nil && r.teamHolds(ctx, team.Name(), own, kind, id, maxStateBytes) {
			return team.Name()
		}
	}
	return ""
}

// teamHolds looks for an object in the states of a team, except in the file own. It reads
// at most so many bytes as budget says.
func (r *run) teamHolds(ctx context.Context, team, own, kind, id string, budget int64) bool {
	// A root of its own keeps links in the folder from leading to another team's.
	root, err := os.OpenRoot(filepath.Join(r.StateRoot, team))
	if err != nil {
		return false
	}
	defer root.Close()
	found, left := false, budget
	// Beside the states lie copies and histories of them.
	enter := func(dir string) bool { return path.Base(path.Dir(dir)) != ".pulumi" || path.Base(dir) == "stacks" }
	untrusted.Walk(root, untrusted.Budget{Entries: maxStateFiles, Depth: maxStateDepth}, enter, func(file string) bool {
		if ctx.Err() != nil {
			return false
		}
		if whole := team + "/" + file; whole == own || path.Ext(file) != ".json" || !strings.Contains(whole, "/.pulumi/stacks/") {
			return true
		}
		data, err := untrusted.ReadPlain(root, file, min(left, maxState))
		left -= int64(len(data))
		found = err == nil && r.stateHas(ctx, data, kind, id)
		return !found
	})
	return found
}

// stateHas tells whether a state has an object among its first maxHeld resources. It
// decodes them one by one. A state that is not valid has what comes before the fault.
func (r *run) stateHas(ctx context.Context, data []byte, kind, id string) bool {
	decoder := json.NewDecoder(bytes.NewReader(data))
	for _, field := range []string{"checkpoint", "latest", "resources"} {
		if !enterField(decoder, field) {
			return false
		}
	}
	if token, err := decoder.Token(); err != nil || token != json.Delim('[') {
		return false
	}
	state := &deployment{project: r.cloudProject()}
	for range maxHeld {
		if !decoder.More() || ctx.Err() != nil {
			return false
		}
		var other resource
		if decoder.Decode(&other) != nil {
			return false
		}
		if len(state.resources) < maxProviders && strings.HasPrefix(other.text("type"), providerPrefix) {
			state.resources = append(state.resources, other)
		}
		if other.text("type") == kind && (other.text("id") == id || objectID(other, state.projectOf(other)) == id) {
			return true
		}
	}
	return false
}

// providerPrefix begins the types of providers. A state has a provider before the
// resources that use it.
const providerPrefix = "pulumi:providers:"

// enterField reads an object up to the value of a field. It tells whether there is one.
func enterField(decoder *json.Decoder, field string) bool {
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return false
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return false
		}
		if name == field {
			return true
		}
		if decoder.Decode(&json.RawMessage{}) != nil {
			return false
		}
	}
	return false
}
