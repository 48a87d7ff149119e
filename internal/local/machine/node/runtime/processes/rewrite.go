package processes

import (
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/node/volume"
)

// mounts are the mounts of one container, longest path first.
type mounts []volume.Mount

// at returns the folder mounted at a path of the container, or "" if no volume is mounted there.
func (list mounts) at(mountPath string) string {
	for _, m := range list {
		if m.Path == mountPath {
			return m.Source
		}
	}
	return ""
}

// rewrite replaces the mount paths in a text by their folders. It replaces all in one pass, because a folder of this
// machine may itself be below /tmp.
func (list mounts) rewrite(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		m, found := list.startingAt(s, i)
		if !found {
			b.WriteByte(s[i])
			i++
			continue
		}
		b.WriteString(m.Source)
		i += len(m.Path)
	}
	return b.String()
}

// These characters may surround a path in an argument or a variable.
const (
	beforePath = "=:,;@\"' \t\r\n"
	afterPath  = "/:,;\"' \t\r\n"
)

// startingAt returns the mount whose path starts at s[i] and ends at a separator or at the end of s.
func (list mounts) startingAt(s string, i int) (volume.Mount, bool) {
	if i > 0 && !strings.ContainsRune(beforePath, rune(s[i-1])) {
		return volume.Mount{}, false
	}
	for _, m := range list {
		rest, ok := strings.CutPrefix(s[i:], m.Path)
		if ok && (rest == "" || strings.ContainsRune(afterPath, rune(rest[0]))) {
			return m, true
		}
	}
	return volume.Mount{}, false
}
