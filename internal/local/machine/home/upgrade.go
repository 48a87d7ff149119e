package home

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// upgradeMark is the name of the file that exists during an upgrade, and after an interrupted one. It contains the version and the
// step.
const upgradeMark = "upgrade-begun"

// BeginUpgrade records that the step of an upgrade to a version of Strata begins.
func (h Home) BeginUpgrade(to, step string) error {
	return WriteFile(h.path(upgradeMark), []byte(to+" "+step))
}

// UpgradeBegun reports whether an upgrade has begun and neither it nor a later `up` has finished. step is the last step that
// began, and to the version of Strata that began it.
func (h Home) UpgradeBegun() (to, step string, begun bool) {
	raw, err := os.ReadFile(h.path(upgradeMark))
	to, step, _ = strings.Cut(strings.TrimSpace(string(raw)), " ")
	return to, step, err == nil
}

// EndUpgrade removes the record of BeginUpgrade.
func (h Home) EndUpgrade() error {
	if err := os.Remove(h.path(upgradeMark)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
