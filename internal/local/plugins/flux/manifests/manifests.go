// Package manifests generates the files of Flux's repository.
package manifests

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/fluxcd/flux2/v2/pkg/manifestgen"
	"github.com/fluxcd/flux2/v2/pkg/manifestgen/install"
	"github.com/fluxcd/flux2/v2/pkg/manifestgen/sync"
	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/strata-platform/strata/internal/local/plugins/flux/options"
)

// defaultKustomization is the kustomization that Flux's own bootstrap writes without an override.
const defaultKustomization = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- ` + options.ComponentsFile + `
- ` + options.SyncFile + `
`

// Render returns the files of Flux's repository, by path. They depend only on the options.
func Render(o options.Options) (map[string]string, error) {
	o = o.WithDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	base, err := manifestsBase(o.Manifests, o.Install.Version)
	if err != nil {
		return nil, err
	}
	// The generator writes next to the manifests. It works on a copy, because other processes read the manifests.
	work, err := manifestgen.MkdirTempAbs("", "strata-flux-manifests-")
	if err != nil {
		return nil, fmt.Errorf("create a work folder: %w", err)
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, os.DirFS(base)); err != nil {
		return nil, fmt.Errorf("copy the Flux manifests of %s: %w", base, err)
	}

	components, err := install.Generate(installOptions(o), work)
	if err != nil {
		return nil, fmt.Errorf("generate the component manifests of Flux %s: %w", o.Install.Version, err)
	}
	syncPath, syncContent, err := RenderSync(o)
	if err != nil {
		return nil, err
	}
	return map[string]string{
		components.Path: components.Content,
		syncPath:        syncContent,
		path.Join(o.Folder(), konfig.DefaultKustomizationFileName()): cmp.Or(o.Install.KustomizationOverride, defaultKustomization),
	}, nil
}

// RenderSync returns the path and the content of the file with Flux's source and root sync. The options must have their
// defaults.
func RenderSync(o options.Options) (path, content string, err error) {
	syncOpts, err := syncOptions(o)
	if err != nil {
		return "", "", err
	}
	manifest, err := sync.Generate(syncOpts)
	if err != nil {
		return "", "", fmt.Errorf("generate the sync manifests: %w", err)
	}
	return manifest.Path, manifest.Content, nil
}

// manifestsBase returns the folder with the manifests of a version: dir itself or a subfolder.
func manifestsBase(dir, version string) (string, error) {
	if dir == "" {
		return "", fmt.Errorf("no folder of Flux manifests: set %s", FolderVariable)
	}
	base := filepath.Join(dir, version)
	if version == options.DefaultVersion {
		base = dir
	}
	if _, err := os.Stat(filepath.Join(base, "rbac.yaml")); err != nil {
		return "", fmt.Errorf("no manifests of Flux %s in %s: the local flux plugin does not download manifests, use version %s", version, dir, options.DefaultVersion)
	}
	return base, nil
}

// FolderVariable is the environment variable with the path of the folder of manifests.
const FolderVariable = "STRATA_FLUX_MANIFESTS"

// installOptions returns the options for Flux's generator of the components' manifests.
func installOptions(o options.Options) install.Options {
	opts := install.MakeDefaultOptions()
	opts.ClusterDomain = o.Install.ClusterDomain
	opts.Components = o.Components()
	opts.ComponentsExtra = nil
	opts.ImagePullSecret = o.Install.ImagePullSecret
	opts.LogLevel = o.Install.LogLevel
	opts.ManifestFile = options.ComponentsFile
	opts.Namespace = o.Install.Namespace
	opts.NetworkPolicy = *o.Install.NetworkPolicy
	opts.Registry = o.Install.Registry
	opts.TargetPath = o.Install.Path
	opts.TolerationKeys = o.Install.TolerationKeys
	opts.Version = o.Install.Version
	opts.WatchAllNamespaces = *o.Install.WatchAllNamespaces
	return opts
}

// syncOptions returns the options for Flux's generator of the manifests of the source and the root sync.
func syncOptions(o options.Options) (sync.Options, error) {
	interval, err := time.ParseDuration(o.Install.Interval)
	if err != nil {
		return sync.Options{}, fmt.Errorf("interval %q: %w", o.Install.Interval, err)
	}
	return sync.Options{
		Branch:            o.Git.Branch,
		Interval:          interval,
		ManifestFile:      options.SyncFile,
		Name:              o.Install.Namespace,
		Namespace:         o.Install.Namespace,
		RecurseSubmodules: o.Install.RecurseSubmodules,
		Secret:            o.Install.SecretName,
		TargetPath:        o.Install.Path,
		URL:               o.Git.URL,
	}, nil
}
