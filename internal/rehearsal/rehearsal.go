// Package rehearsal applies this version of the platform to a copy of a platform from a backup, in a home that it removes again.
//
// The copy has the same resources, in an emulated Google Cloud and a cluster of its own: the resources of the states are created again by
// the engine and the plugins of Pulumi, see package replay. It has new credentials, and no secret of the backup.
package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"

	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/backup/content"
	"github.com/strata-platform/strata/internal/buildinfo"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/internal/replay"
	"github.com/strata-platform/strata/operator/engine/settings"
	"github.com/strata-platform/strata/operator/plan"
)

// Options describe a rehearsal.
type Options struct {
	// Root is the root folder of the clone of Strata, or of an organisation's repository, whose version is applied.
	Root string
	// File is the path of the backup, and Identities open it.
	File       string
	Identities []age.Identity
}

// Result is what the version would do to the platform of the backup.
type Result struct {
	// Backup describes the backup, and Strata is the version that was applied to it.
	Backup Backup `json:"backup"`
	Strata string `json:"strata"`
	// Losses counts the resources with data that the version would delete or replace.
	Losses int `json:"losses"`
	// Ready says that layers 1 to 3 and all Stacks became ready. Cause says what did not; it is empty if the rehearsal ended before.
	Ready bool   `json:"ready"`
	Cause string `json:"cause,omitempty"`
	// Parts are the layers, and after them the Stacks of the teams.
	Parts []Part `json:"parts"`
	// Left says which parts of the backup the rehearsal leaves out, and why.
	Left []string `json:"left,omitempty"`
}

// Backup describes a backup.
type Backup struct {
	File    string    `json:"file"`
	Strata  string    `json:"strata"`
	Created time.Time `json:"created"`
}

// Part is the plan of a layer or of a Stack, by the name of either.
type Part struct {
	// Layer is bootstrap, platform or team. Namespace is that of a Stack.
	Layer     string `json:"layer"`
	Namespace string `json:"namespace,omitempty"`
	plan.Stack
}

// run is a rehearsal that has begun.
type run struct {
	Options
	dir      string // the folder of this rehearsal, which Run removes
	platform *local.Platform
	life     *lifecycle.Platform
	show     *progress.Reporter

	content *content.Content
	google  *onGoogle // nil for a platform on this machine
	keys    settings.Crypters
	words   replay.Words
	first   *replay.State // layer 1 of the backup
	result  *Result
}

// cleanup limits the end of a rehearsal.
const cleanup = 3 * time.Minute

// Run rehearses. It removes the home and ends all its processes, also after an error. If the error is nil, the rehearsal has come to its
// end, whatever its result.
func Run(ctx context.Context, show *progress.Reporter, options Options) (result *Result, err error) {
	home.KeepPrivate()
	dir, release, err := take(ctx, show, options.Root, os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("rehearse: %w", err)
	}
	defer func() {
		// Otherwise processes run there, and the next rehearsal ends them.
		if !errors.Is(err, errLeft) {
			release()
		}
	}()
	r := &run{Options: options, dir: dir, show: show, result: &Result{Strata: buildinfo.Version}}
	if err := r.read(ctx, filepath.Join(dir, "bundles")); err != nil {
		return nil, err
	}
	r.platform, err = local.Open(options.Root, filepath.Join(dir, homeFolder), r.content.Environment)
	if err != nil {
		return nil, err
	}
	if r.google != nil {
		r.platform.Reconfigure = r.reconfigure
	}
	r.life = lifecycle.New(r.platform)
	defer func() {
		switch failed := r.end(ctx); {
		case failed == nil:
		case ctx.Err() != nil:
			err = failed // It says more than that somebody has interrupted the rehearsal.
		default:
			err = errors.Join(err, failed)
		}
	}()
	for _, step := range []lifecycle.Step{
		{Name: "lay out a home without secrets", Do: r.layOut},
		{Name: "create the resources of layer 1 again", Do: r.seedFirst},
		{Name: "create the resources of layer 2 again", Do: r.seedSecond},
		{Name: "create the resources of the Stacks again", Do: r.seedStacks},
		{Name: "plan both layers", Do: r.planLayers},
		{Name: "apply both layers", Do: r.applyLayers},
		{Name: "plan the Stacks", Do: r.planStacks},
		{Name: "apply the Stacks", Do: r.applyStacks},
	} {
		if err := show.Run(step.Name, func() (string, error) { return step.Do(ctx, show) }); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("rehearse %s: %s: %w", options.File, step.Name, err)
		}
		if r.result.Cause != "" {
			break
		}
	}
	for _, part := range r.result.Parts {
		if part.Failed && r.result.Cause == "" {
			r.result.Cause = fmt.Sprintf("%s: %s", part.Name, part.Message)
		}
	}
	r.result.Ready = r.result.Cause == ""
	return r.result, nil
}

// errLeft begins the error of a rehearsal whose processes may still run.
var errLeft = errors.New("the next rehearsal ends the processes that this one leaves in")

// end stops everything and removes the home.
func (r *run) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	return r.show.Run("remove the home of the rehearsal", func() (string, error) {
		if err := r.platform.Stop(ctx); err != nil {
			return "", fmt.Errorf("%w %s: %w", errLeft, r.platform.Home.Dir(), err)
		}
		return "", r.platform.Home.Remove()
	})
}

// read reads the backup.
func (r *run) read(ctx context.Context, bundles string) error {
	if err := os.Mkdir(bundles, 0o700); err != nil {
		return err
	}
	return r.show.Run("read "+r.File, func() (string, error) {
		var err error
		if r.content, err = content.Read(ctx, r.File, buildinfo.Version, r.Identities, bundles); err != nil {
			return "", err
		}
		r.result.Backup = Backup{File: r.File, Strata: r.content.Strata, Created: r.content.Created}
		if r.content.Target == content.GKE {
			if err := r.readSettings(); err != nil {
				return "", err
			}
		}
		if r.content.Operator() == home.UpstreamOperator {
			return "", fmt.Errorf("rehearse %s: the states of its Stacks are in buckets of the emulated Google Cloud, which a backup does not contain: "+
				"the rehearsal is for the embedded operator", r.File)
		}
		project, err := lifecycle.ProjectOf(lifecycle.BootstrapLayer)
		if err != nil {
			return "", err
		}
		if r.first, err = r.state(ctx, project.Name, r.content.LayerState(project.Name), r.content.Secret("passphrase")); err != nil {
			return "", err
		}
		r.publishLogin(r.first.Output(handoff.OutputKubeconfig))
		return fmt.Sprintf("of strata %s, %s", r.content.Strata, r.content.Created.Format(time.RFC3339)), nil
	})
}

// state decodes a state of the backup, and publishes its texts that are no secrets.
func (r *run) state(ctx context.Context, of string, raw []byte, passphrase string) (*replay.State, error) {
	if raw == nil {
		return nil, fmt.Errorf("rehearse %s: it contains no state of %s: back up a platform that is up", r.File, of)
	}
	state, err := replay.Read(ctx, raw, passphrase, &r.keys)
	if err != nil {
		return nil, fmt.Errorf("rehearse %s: read the state of %s: %w", r.File, of, err)
	}
	r.words.Publish(state)
	return state, nil
}
