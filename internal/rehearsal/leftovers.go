package rehearsal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/progress"
	"github.com/strata-platform/strata/operator/engine/workdir"
)

const (
	// prefix begins the names of the folders of rehearsals. It is short, because the path of a socket is.
	prefix = "strata-rehearsal-"
	// homeFolder is the home in such a folder.
	homeFolder = "home"
)

// take returns an empty folder for a rehearsal. Before, it removes the folders in parent that killed rehearsals left, and ends the
// processes of their homes. A rehearsal that runs holds its folder.
func take(ctx context.Context, show *progress.Reporter, root, parent string) (dir string, release func(), err error) {
	former := ""
	for {
		dir, release, err = workdir.Take(parent, prefix)
		if err != nil {
			return "", nil, err
		}
		entries, err := os.ReadDir(dir)
		if err == nil && dir == former {
			err = fmt.Errorf("remove the folder %s, which a killed rehearsal left: it is still there: remove it by hand", dir)
		}
		if err != nil {
			release()
			return "", nil, err
		}
		// The file by which this process holds the folder is always there.
		if len(entries) <= 1 {
			return dir, release, nil
		}
		former = dir
		err = show.Run("remove what a killed rehearsal left", func() (string, error) {
			left, err := local.Open(root, filepath.Join(dir, homeFolder), "")
			if err == nil {
				err = left.Stop(ctx)
			}
			if err != nil {
				return "", fmt.Errorf("end the processes of %s: %w", dir, err)
			}
			release()
			return dir, nil
		})
		if err != nil {
			return "", nil, err
		}
	}
}
