package flux

import (
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/fluxcd/flux2/v2/pkg/manifestgen"
	"github.com/fluxcd/flux2/v2/pkg/manifestgen/install"
	"github.com/fluxcd/flux2/v2/pkg/manifestgen/sync"
	"sigs.k8s.io/kustomize/api/konfig"
)

// defaultKustomization is the kustomization that Flux's own bootstrap writes without an override.
const defaultKustomization = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources:
- ` + componentsFile + `
- ` + syncFile + `
`

// Render returns the files that Flux's repository must hold, by path. They depend only on the options.
func Render(o Options) (map[string]string, error) {
	o = o.withDefaults()
	if err := o.validate(); err != nil {
		return nil, err
	}
	base, err := manifestsBase(o.Manifests, o.Install.Version)
	if err != nil {
		return nil, err
	}
	// The generator writes next to the manifests, which other processes read at the same time, so it works on a copy.
	work, err := manifestgen.MkdirTempAbs("", "strata-flux-manifests-")
	if err != nil {
		return nil, fmt.Errorf("make a work folder: %w", err)
	}
	defer os.RemoveAll(work)
	if err := os.CopyFS(work, os.DirFS(base)); err != nil {
		return nil, fmt.Errorf("copy the Flux manifests of %s: %w", base, err)
	}

	components, err := install.Generate(o.installOptions(), work)
	if err != nil {
		return nil, fmt.Errorf("generate the component manifests of Flux %s: %w", o.Install.Version, err)
	}
	syncPath, syncContent, err := renderSync(o)
	if err != nil {
		return nil, err
	}
	return map[string]string{
		components.Path: components.Content,
		syncPath:        syncContent,
		path.Join(o.folder(), konfig.DefaultKustomizationFileName()): or(o.Install.KustomizationOverride, defaultKustomization),
	}, nil
}

// renderSync returns the file with Flux's source and root sync. The options must have their defaults.
func renderSync(o Options) (path, content string, err error) {
	syncOpts, err := o.syncOptions()
	if err != nil {
		return "", "", err
	}
	manifest, err := sync.Generate(syncOpts)
	if err != nil {
		return "", "", fmt.Errorf("generate the sync manifests: %w", err)
	}
	return manifest.Path, manifest.Content, nil
}

// folder returns the folder of the files, relative to the repository's root.
func (o Options) folder() string { return path.Join(o.Install.Path, o.Install.Namespace) }

// manifestsBase returns the folder of a version's manifests below dir.
func manifestsBase(dir, version string) (string, error) {
	if dir == "" {
		return "", fmt.Errorf("no folder of Flux manifests is set: set %s", ManifestsVariable)
	}
	base := filepath.Join(dir, version)
	if version == DefaultVersion {
		base = dir
	}
	if _, err := os.Stat(filepath.Join(base, "rbac.yaml")); err != nil {
		return "", fmt.Errorf("no manifests of Flux %s in %s: the local flux plugin downloads none, use version %s", version, dir, DefaultVersion)
	}
	return base, nil
}

// ManifestsVariable is the environment variable that names the folder of generated manifests.
const ManifestsVariable = "STRATA_FLUX_MANIFESTS"
