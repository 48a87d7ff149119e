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

// Bounds of the search through one team's states during a run of another team. If a
// folder exceeds them, the engine does not search the rest, and another team may take
// over objects in the states that it skips.
const (
	maxStateFiles = 50_000
	maxStateDepth = 16
	maxStateBytes = 32 << 20

	// maxHeld bounds how many resources of one state the engine decodes. A state of
	// maxState bytes can hold millions of empty resources, which take seconds and
	// gigabytes to decode.
	maxHeld = 20_000

	// maxProviders bounds how many providers of one state the engine searches for their
	// cloud project. The engine searches them for each resource.
	maxProviders = 32
)

// holder returns the name of the team that has another stack with the object in its state: the name of a folder below
// StateRoot. holder returns an empty string if it finds no such stack. Different teams can give objects the same name, so an
// object that exists after an interrupted creation may be an object of another team.
func (r *run) holder(ctx context.Context, kind, id string) string {
	if r.StateRoot == "" || !r.local {
		return ""
	}
	own, err := filepath.Rel(r.StateRoot, filepath.Join(r.BackendFolder, r.stateFolder))
	if err != nil {
		return ""
	}
	own = path.Join(filepath.ToSlash(own), ".pulumi", "stacks", r.Project, r.stackBase()+".json")
	// Runs cannot write to StateRoot itself, so they cannot put links into it.
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

// teamHolds reports whether a state of a team has the object. teamHolds skips the file
// own and reads at most budget bytes.
func (r *run) teamHolds(ctx context.Context, team, own, kind, id string, budget int64) bool {
	// The root keeps links in the team's folder from leading to another team's folder.
	root, err := os.OpenRoot(filepath.Join(r.StateRoot, team))
	if err != nil {
		return false
	}
	defer root.Close()
	found, left := false, budget
	// Beside the folder with the states, .pulumi has folders with backups and histories.
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

// stateHas reports whether a state has the object among its first maxHeld resources.
// stateHas decodes the resources one by one. Of an invalid state, it reads the
// resources before the fault.
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

// providerPrefix is the prefix of the types of providers. A state lists a provider
// before the resources that use it.
const providerPrefix = "pulumi:providers:"

// enterField reads an object up to the value of a field. enterField reports whether the
// object has the field.
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
