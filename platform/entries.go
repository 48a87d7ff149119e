package platform

import (
	"path/filepath"

	"github.com/strata-platform/strata/catalogue"
	"github.com/strata-platform/strata/teams"
)

// Entries returns the entries of the catalogue that a teams.yaml offers, as this layer reads them: teamsFile is its path.
func Entries(teamsFile string) ([]*catalogue.Entry, error) {
	list, err := teams.Load(teamsFile)
	if err != nil {
		return nil, err
	}
	found, err := loadOffers(list.Catalogue, filepath.Join(filepath.Dir(teamsFile), catalogue.Folder), false, true)
	return found.entries, err
}
