package home

import (
	"cmp"
	"encoding/json"
	"os"
)

// rehearsalMark is the file that marks the home of a rehearsal, and describes it.
const rehearsalMark = "rehearsal"

// Rehearsal describes how the home of a rehearsal differs from others, because it is the copy of a platform elsewhere.
type Rehearsal struct {
	// Project is the ID of the Google project; empty means [Project].
	Project string `json:"project,omitempty"`
	// AnyUser says that the Git server accepts a password under any user name, as hosts do that know tokens.
	AnyUser bool `json:"anyUser,omitempty"`
	// Public are the repositories that the Git server lets everybody read.
	Public []string `json:"public,omitempty"`
}

// MarkRehearsal marks the home as one whose secrets protect nothing: all of them were created for a rehearsal, or are placeholders.
func (h Home) MarkRehearsal(r Rehearsal) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return WriteFile(h.path(rehearsalMark), raw)
}

// IsRehearsal reports whether the home is one of a rehearsal.
func (h Home) IsRehearsal() bool {
	_, err := os.Stat(h.path(rehearsalMark))
	return err == nil
}

// Rehearsal returns the description of a rehearsal's home; empty for other homes.
func (h Home) Rehearsal() (r Rehearsal) {
	raw, err := os.ReadFile(h.path(rehearsalMark))
	if err != nil || json.Unmarshal(raw, &r) != nil {
		return Rehearsal{}
	}
	return r
}

// Project returns the ID of the Google project of the home.
func (h Home) Project() string { return cmp.Or(h.Rehearsal().Project, Project) }
