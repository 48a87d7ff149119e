package toolchain

import (
	"fmt"
	"time"
)

// An Event is one step of progress of Ensure.
type Event struct {
	Tool     string
	Version  string
	Progress Progress
	Index    int           // which of the tools that are built, from 1
	Total    int           // how many are built
	Elapsed  time.Duration // since Ensure turned to this tool
}

// Progress says how far the build of a tool is.
type Progress string

const (
	// Waiting means that another process builds a tool of the same bundle.
	Waiting Progress = "waiting for another process to build"
	// Building is told when a build starts, and every heartbeat while it goes on.
	Building Progress = "building"
	// Built means that the tool is in the cache now.
	Built Progress = "built"
	// Copied means that the pinned version was found on PATH and a copy of it is in the cache now.
	Copied Progress = "copied from PATH"
)

// heartbeat is the time between two events of a build that goes on.
const heartbeat = 30 * time.Second

// String returns the event as a line for people.
func (e Event) String() string {
	line := fmt.Sprintf("%s %s %s (%d of %d)", e.Progress, e.Tool, e.Version, e.Index, e.Total)
	if seconds := e.Elapsed.Round(time.Second); seconds > 0 {
		line += fmt.Sprintf(", %s", seconds)
	}
	return line
}
