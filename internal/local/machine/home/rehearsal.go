package home

import "os"

// rehearsalMark is the file that marks the home of a rehearsal.
const rehearsalMark = "rehearsal"

// MarkRehearsal marks the home as one whose secrets protect nothing: all of them were created for a rehearsal, or are placeholders.
func (h Home) MarkRehearsal() error { return WriteFile(h.path(rehearsalMark), nil) }

// IsRehearsal reports whether the home is one of a rehearsal.
func (h Home) IsRehearsal() bool {
	_, err := os.Stat(h.path(rehearsalMark))
	return err == nil
}
