// Package layerrecord records the runs of the layers of a home for its ledger.
package layerrecord

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/operator/runrecord"
)

// Run is a run of a layer that has not begun yet.
type Run struct {
	// Folder is the folder of the records, Layer the name of the layer, Account the identity of the run, and Root the repository of the
	// platform.
	Folder, Layer, Account, Root string
	id                           string
}

// New returns a run with an ID of its own.
func New(folder, layer, account, root string) *Run {
	return &Run{Folder: folder, Layer: layer, Account: account, Root: root, id: fmt.Sprintf("%s-%x", layer, time.Now().UnixMilli())}
}

// Reason returns the request reason of the run's calls to Google.
func (r *Run) Reason() string { return "strata layer " + r.id }

// Begin records the begin of an operation, and returns the function that records its end. A run does not depend on its record: without a
// supervisor, and so without the folder, there is none.
func (r *Run) Begin(ctx context.Context, operation string) func(layers.Summary, error) {
	run := runrecord.Run{ID: r.id, Layer: r.Layer, Operation: operation, Account: r.Account, Reason: r.Reason(), Began: time.Now().UTC()}
	run.Commit, run.Author, run.Modified = head(ctx, r.Root)
	_ = runrecord.Write(r.Folder, run)
	return func(summary layers.Summary, err error) {
		run.Ended, run.Result, run.Counts = time.Now().UTC(), runrecord.Succeeded, summary.Changes
		if err != nil {
			run.Result, run.Message = runrecord.Failed, err.Error()
		}
		_ = runrecord.Write(r.Folder, run)
	}
}

// head returns the commit of the repository from which a layer runs, its author, and whether files differ from it.
func head(ctx context.Context, root string) (commit, author string, modified bool) {
	shown, err := git(ctx, root, "log", "-1", "--no-show-signature", "--format=%H%x00%an <%ae>")
	if err != nil {
		return "", "", false
	}
	commit, author, _ = strings.Cut(shown, "\x00")
	changed, err := git(ctx, root, "status", "--porcelain", "--untracked-files=no")
	return commit, author, err == nil && changed != ""
}

// git runs git in a folder. The configuration of the repository starts no program.
func git(ctx context.Context, root string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "git", append([]string{"-C", root, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}, args...)...)
	command.Env = append(os.Environ(), "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
	out, err := command.Output()
	return strings.TrimSpace(string(out)), err
}
