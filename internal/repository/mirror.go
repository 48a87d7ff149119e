package repository

import (
	"context"
	"fmt"

	"github.com/strata-platform/strata/internal/parts"
	"github.com/strata-platform/strata/internal/pins"
)

// Mirrored is a branch of a mirror with Strata's part of layer 3.
type Mirrored struct {
	URL    string `json:"url"`
	Branch string `json:"branch"`
	// Commit is the commit that strata init and strata upgrade pin in strata.yaml.
	Commit string `json:"commit"`
}

// Mirror pushes the layer 3 of this program, of a version of Strata, to a Git repository, with the user's own logins of git. It changes no
// branch that has another commit.
func Mirror(ctx context.Context, url, version string) (Mirrored, error) {
	layer3, err := parts.Sync()
	if err != nil {
		return Mirrored{}, err
	}
	done := Mirrored{URL: url, Branch: pins.Pins{Strata: version}.Branch(), Commit: layer3.Commit()}
	if err := layer3.Push(ctx, url, done.Branch); err != nil {
		return done, fmt.Errorf("push layer 3 to the mirror: %w", err)
	}
	return done, nil
}
