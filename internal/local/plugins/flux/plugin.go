// Package flux contains the local plugin that stands in for the Flux provider of Pulumi. It has the same resource,
// BootstrapGit, and installs and removes Flux with Flux's own libraries, without downloads.
package flux

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/fluxcd/flux2/v2/pkg/log"
	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/flux/bootstrap"
	"github.com/strata-platform/strata/internal/local/plugins/flux/manifests"
	"github.com/strata-platform/strata/internal/local/plugins/flux/options"
	"github.com/strata-platform/strata/internal/local/plugins/flux/parameter"
	"github.com/strata-platform/strata/internal/local/plugins/flux/uninstall"
	"github.com/strata-platform/strata/internal/local/plugins/frame"
	"github.com/strata-platform/strata/internal/local/plugins/frame/codec"
	"github.com/strata-platform/strata/internal/local/plugins/frame/rules"
	sdk "github.com/strata-platform/strata/sdks/flux"
)

// Package describes the plugin, which serves the Terraform provider fluxcd/flux in place of Pulumi's plugin for all Terraform
// providers. It installs the manifests of the folder in manifests.FolderVariable.
func Package() frame.Package {
	pkg := described(sdk.BootstrapGitToken)
	pkg.Version, pkg.Schema = sdk.Version, sdk.Schema
	pkg.Parameter = &frame.Parameter{Plugin: sdk.Plugin, Version: sdk.PluginVersion, Value: parameter.Value, Args: parameter.Args}
	return pkg
}

// Former describes the plugin of platforms whose layer 2 last ran with the SDK of github.com/oun/pulumi-flux. The engine
// starts it for a refresh or a destroy before the next up.
func Former() frame.Package {
	pkg := described(sdk.FormerBootstrapGitToken)
	pkg.Version = formerVersion
	return pkg
}

// formerVersion is the version of the plugin in the states of older platforms.
const formerVersion = "1.0.1"

// described describes the package with one token of its resource.
func described(token string) frame.Package {
	b := &bootstrapper{}
	return frame.Package{
		Name:        "flux",
		Description: "Flux on a cluster, bootstrapped by Strata's local stand-in for the published provider.",
		Config:      sdk.ProviderArgs{},
		ConfigSecrets: []string{
			"git.http.password", "git.gpgPassphrase", "git.ssh.password", "git.ssh.privateKey",
			"kubernetes.clientKey", "kubernetes.token", "kubernetes.password",
		},
		Configure: b.configure,
		Resources: map[string]frame.Resource{
			token: {
				Args:  sdk.BootstrapGitArgs{},
				State: sdk.BootstrapGit{},
				Rules: rules.ByPath{}.Each(rules.Rule{Replace: true}, "namespace path secretName"),
				// A cluster can contain only one Flux, in whichever namespace. The empty, non-nil list makes the engine
				// delete the old one before it creates a replacement.
				Identity: []string{},
				Outdated: b.outdated,
				Operations: frame.Handle(frame.CRUD[options.Install, state]{
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

// state holds the outputs of BootstrapGit.
type state struct {
	options.Install
	RepositoryFiles map[string]string `json:"repositoryFiles"`
}

// bootstrapper holds the provider's configuration between Configure and the operations.
type bootstrapper struct{ config options.Config }

// configure keeps the provider's configuration. It connects to neither the cluster nor the repository, because both may
// not exist yet in a preview.
func (b *bootstrapper) configure(_ context.Context, config property.Map) error {
	for _, k := range []string{"kubernetes", "git"} {
		v := config.Get(k)
		if !v.IsString() {
			continue
		}
		// Configuration from a stack's settings is JSON in a string.
		var object map[string]any
		if err := json.Unmarshal([]byte(v.AsString()), &object); err != nil {
			return fmt.Errorf("the provider's %s must be a JSON object", k)
		}
		m, err := codec.Encode(object)
		if err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
		config = config.Set(k, property.New(m))
	}
	var c options.Config
	if err := codec.Decode(config, &c); err != nil {
		return err
	}
	b.config = c
	return nil
}

func (b *bootstrapper) options(ctx context.Context, i options.Install) options.Options {
	return options.Options{
		Config:    b.config,
		Install:   i,
		Manifests: os.Getenv(manifests.FolderVariable),
		Logger:    engineLog{logger: p.GetLogger(ctx)},
	}
}

func check(i options.Install) []frame.Failure {
	var failures []frame.Failure
	for _, problem := range i.Validate() {
		failures = append(failures, frame.Failure{Path: problem.Property, Reason: problem.Reason})
	}
	return failures
}

// create bootstraps Flux. It renders the files first, so that invalid inputs leave no trace on the cluster.
func (b *bootstrapper) create(ctx context.Context, r frame.Request[options.Install, state]) (string, state, error) {
	o := b.options(ctx, limited(r.Args, r.Timeout))
	s := state{Install: r.Args.WithDefaults()}
	files, err := manifests.Render(o)
	if err != nil {
		return "", s, err
	}
	// From here on, the cluster may contain parts of Flux. The engine keeps the resource in the state because of the
	// ID, and deletes the parts with it.
	s.RepositoryFiles = files
	_, err = bootstrap.Run(ctx, o, nil)
	return s.Namespace, s, err
}

// read reports Flux as missing only if neither the cluster nor the repository has anything of it, so that a refresh
// after a failed deletion does not forget the rest.
func (b *bootstrapper) read(ctx context.Context, r frame.Request[options.Install, state]) (string, state, error) {
	if r.Importing {
		return "", state{}, fmt.Errorf("the local flux plugin does not import Flux: run an update instead, which adopts the installed Flux")
	}
	found, err := bootstrap.Inspect(ctx, b.options(ctx, r.Args), paths(r.State.RepositoryFiles))
	if err != nil {
		return "", state{}, err
	}
	if !found.Installed && len(found.Files) == 0 {
		return "", state{}, frame.ErrNotFound
	}
	s := r.State
	s.RepositoryFiles = found.Files
	b.resetDrifted(ctx, b.options(ctx, r.Args).WithDefaults(), found.Files)
	return r.ID, s, nil
}

// update bootstraps Flux again, which changes only what differs.
func (b *bootstrapper) update(ctx context.Context, r frame.Request[options.Install, state]) (state, error) {
	i := limited(r.Args, r.Timeout)
	if i.Timeouts.Update != "" {
		i.Timeouts.Create = i.Timeouts.Update
	}
	files, err := bootstrap.Run(ctx, b.options(ctx, i), paths(r.State.RepositoryFiles))
	return state{Install: r.Args.WithDefaults(), RepositoryFiles: files}, err
}

func (b *bootstrapper) remove(ctx context.Context, r frame.Request[options.Install, state]) error {
	o := b.options(ctx, limited(r.Args, r.Timeout))
	files := r.State.RepositoryFiles
	if len(files) == 0 { // after a killed run, the state contains no files
		var err error
		if files, err = manifests.Render(o); err != nil {
			return err
		}
	}
	return uninstall.Run(ctx, o, paths(files))
}

// limited replaces the timeouts of the inputs by the time limit that the program sets in customTimeouts, if any.
func limited(i options.Install, limit time.Duration) options.Install {
	if limit > 0 {
		i.Timeouts = options.Timeouts{Create: limit.String(), Read: limit.String(), Update: limit.String(), Delete: limit.String()}
	}
	return i
}

// engineLog shows progress in the engine's status line, and warnings among its messages.
type engineLog struct{ logger p.Logger }

var _ log.Logger = engineLog{}

func (l engineLog) Actionf(format string, a ...any)   { l.logger.InfoStatusf(format, a...) }
func (l engineLog) Generatef(format string, a ...any) { l.logger.InfoStatusf(format, a...) }
func (l engineLog) Waitingf(format string, a ...any)  { l.logger.InfoStatusf(format, a...) }
func (l engineLog) Successf(format string, a ...any)  { l.logger.InfoStatusf(format, a...) }
func (l engineLog) Warningf(format string, a ...any)  { l.logger.Warningf(format, a...) }
func (l engineLog) Failuref(format string, a ...any)  { l.logger.Warningf(format, a...) }

// paths returns the sorted paths of files.
func paths(files map[string]string) []string { return slices.Sorted(maps.Keys(files)) }
