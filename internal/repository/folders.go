package repository

import (
	"os"
	"path"
	"path/filepath"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/platform"
)

// PlatformFolders returns the folders of the repository that Flux applies under the platform's accounts: layer 3, and the platform's own
// entries of the catalogue.
func (r Repository) PlatformFolders() ([]string, error) {
	file, err := lifecycle.ReadTeams(r.Root)
	if err != nil {
		return nil, err
	}
	folders := platform.SyncFolders()
	if r.Organisation {
		folders = folders[:1]
	}
	for _, offer := range file.Catalogue {
		// The other entries are Strata's, and Flux applies them from the pinned commit.
		folder := path.Clean(offer.Team().Path)
		if _, err := os.Stat(filepath.Join(r.Root, filepath.FromSlash(folder))); err == nil {
			folders = append(folders, folder)
		}
	}
	return folders, nil
}
