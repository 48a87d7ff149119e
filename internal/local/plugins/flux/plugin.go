package flux

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/fluxcd/flux2/v2/pkg/log"
	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/frame"
	sdk "github.com/strata-platform/strata/sdks/flux"
)

// Package describes the plugin. It installs the manifests in the folder that ManifestsVariable names.
func Package() frame.Package {
	b := &bootstrapper{}
	return frame.Package{
		Name:        "flux",
		Version:     sdk.Version,
		Description: "Flux on a cluster, bootstrapped by Strata's local stand-in for the published provider.",
		Config:      sdk.ProviderArgs{},
		ConfigSecrets: []string{
			"git.http.password", "git.gpgPassphrase", "git.ssh.password", "git.ssh.privateKey",
			"kubernetes.clientKey", "kubernetes.token", "kubernetes.password",
		},
		Configure: b.configure,
		Resources: map[string]frame.Resource{
			sdk.FluxBootstrapGitToken: {
				Args:  sdk.FluxBootstrapGitArgs{},
				State: sdk.FluxBootstrapGit{},
				Rules: frame.Rules{}.Each(frame.Rule{Replace: true}, "namespace path secretName"),
				// A cluster has room for one Flux in any namespace, so a replacement always deletes the old one first.
				Identity: []string{},
				Outdated: b.outdated,
				Operations: frame.Handle(frame.CRUD[Install, state]{
					Check:  check,
					Create: b.create,
					Read:   b.read,
					Update: b.update,
					Delete: b.remove,
				}),
			},
		},
	}
}

// state holds the outputs of FluxBootstrapGit.
type state struct {
	Install
	RepositoryFiles map[string]string `json:"repositoryFiles"`
}

// bootstrapper holds the provider's configuration between Configure and the operations.
type bootstrapper struct{ config Config }

func (b *bootstrapper) configure(_ context.Context, config property.Map) error {
	for _, k := range []string{"kubernetes", "git"} {
		v := config.Get(k)
		if !v.IsString() {
			continue
		}
		// Configuration from a stack's settings is text.
		var object map[string]any
		if err := json.Unmarshal([]byte(v.AsString()), &object); err != nil {
			return fmt.Errorf("%s is no JSON object", k)
		}
		m, err := frame.Encode(object)
		if err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
		config = config.Set(k, property.New(m))
	}
	var c Config
	if err := frame.Decode(config, &c); err != nil {
		return err
	}
	b.config = c
	return nil
}

func (b *bootstrapper) options(ctx context.Context, i Install) Options {
	return Options{
		Config:    b.config,
		Install:   i,
		Manifests: os.Getenv(ManifestsVariable),
		Logger:    engineLog{logger: p.GetLogger(ctx)},
	}
}

func check(i Install) []frame.Failure {
	var failures []frame.Failure
	for _, problem := range i.Validate() {
		failures = append(failures, frame.Failure{Path: problem.Property, Reason: problem.Reason})
	}
	return failures
}

// outdated returns "repositoryFiles" if the recorded files are for another repository than the provider's. The files
// contain the repository's URL.
func (b *bootstrapper) outdated(last, news property.Map) []string {
	var s state
	var i Install
	if b.config.Git.URL == "" || frame.Decode(last, &s) != nil || frame.Decode(news, &i) != nil {
		return nil // the operations report the error
	}
	path, content, err := renderSync(Options{Config: b.config, Install: i}.withDefaults())
	if err != nil || s.RepositoryFiles[path] == content {
		return nil
	}
	return []string{"repositoryFiles"}
}

func (b *bootstrapper) create(ctx context.Context, r frame.Request[Install, state]) (string, state, error) {
	o := b.options(ctx, limited(r.Args, r.Timeout))
	s := state{Install: r.Args.withDefaults()}
	files, err := Render(o)
	if err != nil {
		return "", s, err
	}
	// From here on, the cluster may contain something to delete. Returning the ID with an error keeps the resource in
	// the state.
	s.RepositoryFiles = files
	_, err = Bootstrap(ctx, o, nil)
	return s.Namespace, s, err
}

func (b *bootstrapper) read(ctx context.Context, r frame.Request[Install, state]) (string, state, error) {
	if r.Importing {
		return "", state{}, fmt.Errorf("importing Flux is not covered by the local flux plugin: run an update instead, which adopts what is installed")
	}
	found, err := Inspect(ctx, b.options(ctx, r.Args), paths(r.State.RepositoryFiles))
	if err != nil {
		return "", state{}, err
	}
	if !found.Installed && len(found.Files) == 0 {
		return "", state{}, frame.ErrNotFound
	}
	s := r.State
	s.RepositoryFiles = found.Files
	return r.ID, s, nil
}

func (b *bootstrapper) update(ctx context.Context, r frame.Request[Install, state]) (state, error) {
	i := limited(r.Args, r.Timeout)
	if i.Timeouts.Update != "" {
		i.Timeouts.Create = i.Timeouts.Update
	}
	files, err := Bootstrap(ctx, b.options(ctx, i), paths(r.State.RepositoryFiles))
	return state{Install: r.Args.withDefaults(), RepositoryFiles: files}, err
}

func (b *bootstrapper) remove(ctx context.Context, r frame.Request[Install, state]) error {
	o := b.options(ctx, limited(r.Args, r.Timeout))
	files := r.State.RepositoryFiles
	if len(files) == 0 { // a killed run has recorded no files
		var err error
		if files, err = Render(o); err != nil {
			return err
		}
	}
	return Uninstall(ctx, o, paths(files))
}

// limited replaces the resource's timeouts by the program's own time limit, if there is one.
func limited(i Install, limit time.Duration) Install {
	if limit > 0 {
		i.Timeouts = Timeouts{Create: limit.String(), Read: limit.String(), Update: limit.String(), Delete: limit.String()}
	}
	return i
}

// engineLog shows progress in the engine's status line, and warnings permanently.
type engineLog struct{ logger p.Logger }

var _ log.Logger = engineLog{}

func (l engineLog) Actionf(format string, a ...any)   { l.logger.InfoStatusf(format, a...) }
func (l engineLog) Generatef(format string, a ...any) { l.logger.InfoStatusf(format, a...) }
func (l engineLog) Waitingf(format string, a ...any)  { l.logger.InfoStatusf(format, a...) }
func (l engineLog) Successf(format string, a ...any)  { l.logger.InfoStatusf(format, a...) }
func (l engineLog) Warningf(format string, a ...any)  { l.logger.Warningf(format, a...) }
func (l engineLog) Failuref(format string, a ...any)  { l.logger.Warningf(format, a...) }
