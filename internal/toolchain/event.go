package toolchain

import (
	"fmt"
	"time"
)

// An Event reports the progress of Ensure.
type Event struct {
	Tool     string
	Version  string
	Progress Progress
	Index    int           // position among the tools to build, from 1
	Total    int           // number of tools to build
	Elapsed  time.Duration // since Ensure started with this tool
}

// Progress is the state of a tool's build.
type Progress string

const (
	// Waiting means that another process is building a tool of the same bundle.
	Waiting Progress = "waiting for another process to build"
	// Building is reported when a build starts, and at every heartbeat while it runs.
	Building Progress = "building"
	// Built means that the tool is now in the cache.
	Built Progress = "built"
	// Copied means that the pinned version was on PATH and a copy of it is now in the cache.
	Copied Progress = "copied from PATH"
	// Linked means that another tool of the bundle, which was built before, is the same program.
	Linked Progress = "linked"
)

// heartbeat is the interval between two events of a running build.
const heartbeat = 30 * time.Second

// String returns the event as a line for people.
func (e Event) String() string {
	line := fmt.Sprintf("%s %s %s (%d of %d)", e.Progress, e.Tool, e.Version, e.Index, e.Total)
	if seconds := e.Elapsed.Round(time.Second); seconds > 0 {
		line += fmt.Sprintf(", %s", seconds)
	}
	return line
}
