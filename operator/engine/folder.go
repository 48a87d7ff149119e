package engine

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/strata-platform/strata/operator/engine/pulumihome"
)

// write creates the folders and files of the run, except those of its project.
func (r *run) write() error {
	for _, name := range []string{homeFolder, tempFolder} {
		if err := os.Mkdir(filepath.Join(r.dir, name), 0o700); err != nil {
			return fmt.Errorf("make the run's folder %s: %w", name, err)
		}
	}
	if err := pulumihome.WithoutLogs(filepath.Join(r.dir, homeFolder)); err != nil {
		return err
	}
	if r.Kubeconfig == nil {
		return nil
	}
	if err := os.WriteFile(filepath.Join(r.dir, kubeconfigFile), r.Kubeconfig, 0o600); err != nil {
		return fmt.Errorf("write the run's %s: %w", kubeconfigFile, err)
	}
	return nil
}
