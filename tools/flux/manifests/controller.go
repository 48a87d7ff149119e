package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// module returns the Go module of a controller.
func module(controller string) string { return "github.com/fluxcd/" + controller }

// localise builds the two files that a controller's release publishes into the folder of the controller's overlay, and
// makes the overlay refer to these local files.
func localise(overlay, controller, version string) error {
	source, err := moduleDir(module(controller))
	if err != nil {
		return err
	}
	path := filepath.Join(overlay, "kustomization.yaml")
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	kustomization := string(content)
	for part, config := range map[string]string{"crds.yaml": "crd", "deployment.yaml": "manager"} {
		published := fmt.Sprintf("https://%s/releases/download/%s/%s.%s", module(controller), version, controller, part)
		if strings.Count(kustomization, published) != 1 {
			return fmt.Errorf("flux2 does not install %s %s: pin the versions of one release of Flux in go.mod", controller, version)
		}
		if err := build(filepath.Join(source, "config", config), filepath.Join(overlay, part)); err != nil {
			return err
		}
		kustomization = strings.ReplaceAll(kustomization, published, part)
	}
	return os.WriteFile(path, []byte(kustomization), 0o644)
}

// readPins returns the versions in go.mod by module.
func readPins() (map[string]string, error) {
	var file struct {
		Require []struct{ Path, Version string }
	}
	if err := goJSON(&file, "mod", "edit", "-json"); err != nil {
		return nil, err
	}
	pins := map[string]string{}
	for _, require := range file.Require {
		pins[require.Path] = require.Version
	}
	return pins, nil
}

// moduleDir returns the folder of a module in the module cache. moduleDir downloads a missing module.
func moduleDir(path string) (string, error) {
	var downloaded struct{ Dir string }
	if err := goJSON(&downloaded, "mod", "download", "-json", path); err != nil {
		return "", err
	}
	return downloaded.Dir, nil
}

// goJSON runs a go command and decodes its output, which must be JSON.
func goJSON(into any, args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, out)
	}
	if err := json.Unmarshal(out, into); err != nil {
		return fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return nil
}
