package backend

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/operator/engine/settle"
	"github.com/strata-platform/strata/operator/untrusted"
)

// Bounds of the search through one team's states during a run of another team. If a
// folder exceeds them, the engine does not search the rest, and another team may take
// over objects in the states that it skips.
const (
	maxStateFiles = 50_000
	maxStateDepth = 16
	maxStateBytes = 32 << 20
)

// Holder returns the name of the team that has another stack with the object in its state: the name of a folder below
// Root. Holder returns an empty string if it finds no such stack. Different teams can give objects the same name, so an
// object that exists after an interrupted creation may be an object of another team.
func (s State) Holder(ctx context.Context, kind, id string) string {
	if s.Root == "" || s.Folder == "" {
		return ""
	}
	own, err := filepath.Rel(s.Root, filepath.Join(s.Parent, s.Folder))
	if err != nil {
		return ""
	}
	own = path.Join(filepath.ToSlash(own), ".pulumi", "stacks", s.Project, s.base()+".json")
	// Runs cannot write to Root itself, so they cannot put links into it.
	teams, err := os.ReadDir(s.Root)
	if err != nil {
		return ""
	}
	for _, team := range teams {
		if team.IsDir() && ctx.Err() == nil && s.teamHolds(ctx, team.Name(), own, kind, id, maxStateBytes) {
			return team.Name()
		}
	}
	return ""
}

// teamHolds reports whether a state of a team has the object. teamHolds skips the file
// own and reads at most budget bytes.
func (s State) teamHolds(ctx context.Context, team, own, kind, id string, budget int64) bool {
	// The root keeps links in the team's folder from leading to another team's folder.
	root, err := os.OpenRoot(filepath.Join(s.Root, team))
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
		data, err := untrusted.ReadPlain(root, file, min(left, MaxState))
		left -= int64(len(data))
		found = err == nil && settle.Contains(ctx, data, kind, id, s.CloudProject)
		return !found
	})
	return found
}
