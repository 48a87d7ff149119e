// Command manifests writes, without a network, the manifests from which Flux's installer renders its components.
//
// Flux publishes these manifests with each release. This command builds them from the same sources: the overlays in the
// module of flux2. The overlay of each controller refers to two published files. This command builds these two files from
// config/crd and config/manager in the controller's own module, so that go.mod alone determines the installed versions. The
// argument is the folder to write. install.Generate of flux2 writes into its folder, so callers give it a copy.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "manifests:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: manifests FOLDER")
	}
	work, err := os.MkdirTemp("", "strata-flux-manifests-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()

	pins, err := readPins()
	if err != nil {
		return err
	}
	output := args[0]
	if err := os.MkdirAll(output, 0o755); err != nil {
		return err
	}
	if err := write(pins, filepath.Join(work, "manifests"), output); err != nil {
		return err
	}
	return verify(pins, output, filepath.Join(work, "install"))
}

// write builds every manifest from the overlays of flux2, which it copies to work.
func write(pins map[string]string, work, output string) error {
	flux, err := moduleDir("github.com/fluxcd/flux2/v2")
	if err != nil {
		return err
	}
	if err := os.CopyFS(work, os.DirFS(filepath.Join(flux, "manifests"))); err != nil {
		return err
	}
	bases, err := os.ReadDir(filepath.Join(work, "bases"))
	if err != nil {
		return err
	}
	for _, base := range bases {
		controller := base.Name()
		version, pinned := pins[module(controller)]
		if !pinned {
			continue // a controller that Strata does not run
		}
		overlay := filepath.Join(work, "bases", controller)
		if err := localise(overlay, controller, version); err != nil {
			return fmt.Errorf("%s: %w", controller, err)
		}
		if err := build(overlay, filepath.Join(output, controller+".yaml")); err != nil {
			return err
		}
	}
	for _, part := range []string{"rbac", "policies"} {
		if err := build(filepath.Join(work, part), filepath.Join(output, part+".yaml")); err != nil {
			return err
		}
	}
	return nil
}

// build renders the kustomization in dir into a file.
func build(dir, file string) error {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return fmt.Errorf("build %s: %w", dir, err)
	}
	content, err := resources.AsYaml()
	if err != nil {
		return fmt.Errorf("build %s: %w", dir, err)
	}
	return os.WriteFile(file, content, 0o644)
}
