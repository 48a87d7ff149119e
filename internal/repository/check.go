package repository

import (
	"fmt"

	"golang.org/x/mod/semver"

	"github.com/strata-platform/strata/internal/parts"
)

// CheckPins returns an error unless strata.yaml and go.mod pin this strata, whose version is given. Otherwise strata would run
// other versions of the layers than the repository pins, or Flux would apply another version of layer 3.
func (r Repository) CheckPins(version string) error {
	pinned, err := r.Pins()
	if err != nil {
		return err
	}
	required, err := r.requirement()
	if err != nil {
		return err
	}
	layer3, err := parts.Sync()
	if err != nil {
		return err
	}
	switch {
	case semver.Compare(pinned.Strata, version) > 0:
		return fmt.Errorf("%s pins Strata %s, and this is the older strata %s: install the pinned one with `go install %s/cmd/strata@%s`",
			r.Root, pinned.Strata, version, Module, pinned.Strata)
	case pinned.Strata != version:
		return fmt.Errorf("%s pins Strata %s, and this is strata %s: see the changes with `strata upgrade --check`, or install the pinned one with `go install %s/cmd/strata@%s`",
			r.Root, pinned.Strata, version, Module, pinned.Strata)
	case required.version != pinned.Strata && !required.replaced:
		return fmt.Errorf("%s requires Strata %s, and strata.yaml pins %s: make them equal with `strata upgrade`, or with `go get %s@%s`",
			r.goMod(), required.version, pinned.Strata, Module, pinned.Strata)
	case pinned.Sync.Commit != layer3.Commit():
		return fmt.Errorf("%s pins the commit %s of layer 3, and this strata contains %s: see the changes with `strata upgrade --check`, or use the strata that wrote the file",
			r.Root, pinned.Sync.Commit, layer3.Commit())
	}
	return nil
}
