// Package trial checks and builds the commits of a push as Flux does, in a confined process with limits.
//
// The size of a build does not follow from the size of its files: replacements, variables and aliases grow a few hundred
// bytes to any size, and parsers of YAML disagree about the content of a file. kustomize-controller runs one build at a time for
// all teams, so a build that takes all of its memory or hours of its time stops every team. A trial with the same library,
// on the same files, harms only the account that pushes.
package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/strata-platform/strata/internal/lint"
)

// Executable is the name under which this program serves trials.
const Executable = "strata-trial"

// Limits bound the trial of one commit.
type Limits struct {
	// Files bound the files of a build.
	Files lint.Limits
	// Processor is the processor time of the check of a commit, and of each of its builds. It counts in whole seconds.
	Processor time.Duration
	// Memory is the memory of the process in bytes.
	Memory int64
	// Bytes is the size of the output of each build, and Objects the number of its objects.
	Bytes   int64
	Objects int
}

// DefaultLimits keep a build within the capacity of the controller that all teams share. Flux's own manifests take 0.3 s.
func DefaultLimits() Limits {
	files := lint.DefaultLimits()
	return Limits{Files: files, Processor: 5 * time.Second, Memory: 1 << 30, Bytes: files.Bytes, Objects: files.Objects}
}

// Sync is the spec of a Kustomization of Flux: which folder Flux builds and what it adds.
type Sync map[string]any

// Trial is a process that checks and builds the commits of one push.
type Trial struct {
	limits  Limits
	process *process
}

// Start starts the process. The process ends with ctx. It unpacks commits into folder, an existing absolute path that
// no other process uses. Call Close to end the process.
func Start(ctx context.Context, folder string, limits Limits) (*Trial, error) {
	p, err := start(ctx, folder, limits)
	if err != nil {
		return nil, fmt.Errorf("start the process of a trial: %w", err)
	}
	return &Trial{limits: limits, process: p}, nil
}

// Close ends the process.
func (t *Trial) Close() { t.process.end() }

// Built describes the trial of one sync, for the author of the commit.
type Built struct {
	// Failure is the error of a build that fails in the cluster, too; empty if the build succeeds.
	Failure string
	// Unlisted are the files that contain objects of Kubernetes and that the build does not read, because they are outside of
	// its folder or no kustomization file lists them. At most MostUnlisted, sorted, as paths in the repository. Empty after a
	// failure.
	Unlisted []string
}

// MostUnlisted is the maximum number of files in Built.Unlisted.
const MostUnlisted = 1000

// Check returns the problems that lint.Check finds in the files of a commit. A check that exceeds the limits is a problem,
// and ends the process: the trial then cannot be used any more. The error is that of ctx, or of a repository that cannot be read.
func (t *Trial) Check(repository fs.FS) ([]lint.Problem, error) {
	result, err := t.judge(repository, request{Limits: t.limits}, "check")
	return result.Problems, err
}

// Build builds a commit for each sync as Flux does. It returns the builds that exceed the limits, or what it knows of each
// build. A build that fails is not a problem: it fails in the same way in the cluster, where the status of the Kustomization
// contains the reason.
func (t *Trial) Build(repository fs.FS, syncs []Sync) ([]lint.Problem, []Built, error) {
	var all []Built
	for _, sync := range syncs {
		spec, err := json.Marshal(sync)
		if err != nil {
			return nil, nil, err
		}
		result, err := t.judge(repository, request{Limits: t.limits, Sync: spec}, "build")
		if err != nil || len(result.Problems) > 0 {
			return result.Problems, nil, err
		}
		all = append(all, result.Built)
	}
	return nil, all, nil
}

func (t *Trial) judge(repository fs.FS, asked request, what string) (message, error) {
	result, err := t.process.ask(repository, asked)
	var ended *endedError
	switch {
	case t.process.ctx.Err() != nil:
		return message{}, t.process.ctx.Err()
	case errors.As(err, &ended):
		return message{Problems: []lint.Problem{{File: "The repository", Reason: ended.reason(what, t.limits)}}}, nil
	}
	return result, err
}
