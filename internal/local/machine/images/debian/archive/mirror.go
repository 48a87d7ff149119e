package archive

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// MirrorVariable is the environment variable with the address of a mirror, such as that of a company.
const MirrorVariable = "STRATA_DEBIAN_MIRROR"

// ErrNoMirror means that neither the environment nor the machine names a mirror.
var ErrNoMirror = errors.New("this machine names no mirror of Debian: set " + MirrorVariable +
	" to the address of one, see https://www.debian.org/mirror/list")

// FindMirror returns the address of the mirror in MirrorVariable, or the first one in the sources of APT at root, which is "/"
// on a Debian machine (sources.list(5)).
func FindMirror(root string) (string, error) {
	if address := os.Getenv(MirrorVariable); address != "" {
		return address, nil
	}
	folder := filepath.Join(root, "etc", "apt")
	parts, err := filepath.Glob(filepath.Join(folder, "sources.list.d", "*"))
	if err != nil {
		return "", err
	}
	slices.Sort(parts)
	for _, path := range append([]string{filepath.Join(folder, "sources.list")}, parts...) {
		content, err := os.ReadFile(path)
		if err != nil {
			continue // Other files may name a mirror.
		}
		if address := mirrorIn(string(content)); address != "" {
			return address, nil
		}
	}
	return "", ErrNoMirror
}

// addresses matches the addresses in a file of sources.
var addresses = regexp.MustCompile(`https?://[^\s\]]+`)

// mirrorIn returns the first address of a main archive of Debian: mirrors have it in a folder with the name debian. Archives for
// other systems, and those of security updates, have other names.
func mirrorIn(sources string) string {
	for line := range strings.Lines(sources) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, address := range addresses.FindAllString(line, -1) {
			if address = strings.TrimSuffix(address, "/"); strings.HasSuffix(address, "/debian") {
				return address
			}
		}
	}
	return ""
}
