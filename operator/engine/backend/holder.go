package backend

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/strata-platform/strata/operator/engine/settle"
)

// maxStateBytes bounds the search through one team's states during a run of another team. If a folder exceeds a bound,
// the engine does not search the rest, and another team may take over objects in the states that it skips.
const maxStateBytes = 32 << 20

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
	own = filepath.ToSlash(filepath.Join(own, stateBase(s.Project, s.base())))
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

// teamHolds reports whether a state of a team has the object. teamHolds skips the stack whose state file has the path own,
// without its suffix, and reads at most budget bytes.
func (s State) teamHolds(ctx context.Context, team, own, kind, id string, budget int64) bool {
	own, ok := strings.CutPrefix(own, team+"/")
	if !ok {
		own = ""
	}
	found := false
	// Holder reports no team for the part of a folder that EachState cannot read.
	_ = eachOther(ctx, filepath.Join(s.Root, team), own, budget, func(_ string, state []byte, err error) bool {
		found = err == nil && settle.Contains(ctx, state, kind, id, s.CloudProject)
		return !found
	})
	return found
}

// EachOther calls see with the project, the stack and the state of each other stack in the folder in which the file backends
// of the stack's team lie, until see returns false. For backends other than file backends it calls see for none.
func (s State) EachOther(ctx context.Context, see func(project, stack string, state []byte) bool) {
	if s.Folder == "" {
		return
	}
	own := filepath.ToSlash(filepath.Join(s.Folder, stateBase(s.Project, s.base())))
	_ = eachOther(ctx, s.Parent, own, maxStateBytes, func(file string, state []byte, err error) bool {
		base, _ := TrimState(file)
		return err != nil || see(path.Base(path.Dir(base)), path.Base(base), state)
	})
}
