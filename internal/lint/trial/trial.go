// Package trial builds what teams push with kustomize, as Flux would, in a process that is confined and bounded.
//
// The files of a build do not reveal its size: replacements and variables grow a few hundred bytes to any size, and
// one build of Flux runs at a time for all teams. A trial build before Flux sees the push harms only the team that
// pushed.
package trial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/strata-platform/strata/internal/lint"
)

// Executable is the program name under which this program serves builds.
const Executable = "strata-trial"

// Limits bound the builds of one commit.
type Limits struct {
	// Time is the maximum duration of all builds together.
	Time time.Duration
	// Memory is the maximum memory of the process in bytes.
	Memory int64
	// Bytes is the maximum output of all builds together. Objects is the maximum number of objects of each build.
	Bytes   int64
	Objects int
}

// DefaultLimits returns limits that the shared kustomize-controller can bear.
func DefaultLimits() Limits {
	of := lint.DefaultLimits()
	return Limits{Time: 10 * time.Second, Memory: 1 << 30, Bytes: of.Bytes, Objects: of.Objects}
}

// Build builds folders of a repository with their objects in a namespace, as Flux does. It returns the problem of the
// first folder that exceeds the limits or fails to build, or nil if all folders build. It returns an error if it
// cannot start a process or read the repository, or if ctx is done.
func Build(ctx context.Context, repository fs.FS, folders []string, namespace string, limits Limits) (*lint.Problem, error) {
	p, err := start(limits)
	if err != nil {
		return nil, fmt.Errorf("start a process that builds: %w", err)
	}
	defer p.end()
	bounded, cancel := context.WithTimeout(ctx, limits.Time)
	defer cancel()
	defer context.AfterFunc(bounded, p.kill)()
	left := limits.Bytes
	for _, folder := range folders {
		made, err := p.build(repository, request{Folder: folder, Namespace: namespace})
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case bounded.Err() != nil:
			return problem(folder, "takes more than %s to build, with the folders before it", limits.Time), nil
		case errors.Is(err, errEnded):
			return problem(folder, "ends the process that builds it, which may take %d MB of memory", limits.Memory>>20), nil
		case err != nil:
			return nil, fmt.Errorf("build %s: %w", folder, err)
		case made.Failure != "":
			return problem(folder, "cannot be built: %s", made.Failure), nil
		case made.Objects > limits.Objects:
			return problem(folder, "becomes %d objects when it is built, at most %d are taken", made.Objects, limits.Objects), nil
		}
		if left -= made.Bytes; left < 0 {
			return problem(folder, "becomes more than %d MB when it is built, with the folders before it", limits.Bytes>>20), nil
		}
	}
	return nil, nil
}

func problem(folder, reason string, args ...any) *lint.Problem {
	return &lint.Problem{File: "folder " + folder, Reason: fmt.Sprintf(reason, args...)}
}
