package owners

import (
	"strings"

	"github.com/strata-platform/strata/operator/engine/owners/taken"
)

// place is a database or a user on an instance. Its name is in lower case: MySQL compares the names of databases in that way
// on some systems. The host of a user does not count, because MySQL chooses among the users of one name. Each unknown in the
// name stands for a part that only the run knows.
type place struct{ kind, name, instance string }

// unknown is no character of a name.
const unknown = "\x00"

// known reports whether the whole name is known before the run.
func (p place) known() bool { return !strings.Contains(p.name, unknown) }

// meets reports whether two places may be the same. An empty instance may be any.
func (p place) meets(other place) bool {
	if p.kind != other.kind || p.instance != other.instance && p.instance != "" && other.instance != "" {
		return false
	}
	before, after := p.ends()
	otherBefore, otherAfter := other.ends()
	switch {
	case p.known() && other.known():
		return p.name == other.name
	case p.known():
		return strings.HasPrefix(p.name, otherBefore) && strings.HasSuffix(p.name, otherAfter)
	case other.known():
		return strings.HasPrefix(other.name, before) && strings.HasSuffix(other.name, after)
	}
	return (strings.HasPrefix(before, otherBefore) || strings.HasPrefix(otherBefore, before)) &&
		(strings.HasSuffix(after, otherAfter) || strings.HasSuffix(otherAfter, after))
}

// ends returns the known beginning and the known end of the name.
func (p place) ends() (before, after string) {
	return p.name[:max(0, strings.Index(p.name, unknown))], p.name[strings.LastIndex(p.name, unknown)+1:]
}

// String describes the place for a message.
func (p place) String() string { return taken.Describe(p.kind, p.name, p.instance) }
