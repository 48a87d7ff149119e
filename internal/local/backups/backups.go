// Package backups selects the files of a home that nothing can create again, and lays out a new home from them.
//
// A backup contains no data of the emulated Google Cloud: like Google Cloud, it outlives the home. It contains no objects of the
// cluster either: layer 2 and Flux create them again.
package backups

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/lifecycle"
)

// Files and folders of a home, as paths of members.
const (
	portsFile       = "home.json"
	environmentFile = "environment"
	operatorFile    = "operator"
	sourceFile      = "source"

	credentials = "credentials"
	authorities = "kubernetes/pki"
	layers      = "layers"
	layerState  = "state/platform"
	teamStates  = "state/teams"
	lostStates  = "state/lost"
	git         = "git"
)

const (
	// bundled ends the name of a repository's file.
	bundled = ".bundle"
	// maxFile bounds the files except states and repositories, in bytes.
	maxFile = 1 << 20
)

var (
	// environments matches the name of an environment.
	environments = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	// plain matches the name of a file with a key or a secret.
	plain = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,199}$`)
)

// renewed are the files in credentials that the next start creates again: for the control socket, for the engineer's login at the
// emulated Google Cloud, and for the data of etcd, which is lost.
var renewed = []string{"control", "engineer.json", "etcd", "etcd-encryption.yaml"}

// allowed reports whether a backup of an environment may contain a member. A path outside of this list may be that of a program or of
// its settings.
func allowed(member, environment string) bool {
	folder, name := path.Split(member)
	switch folder = strings.TrimSuffix(folder, "/"); folder {
	case "":
		return slices.Contains([]string{portsFile, environmentFile, operatorFile, sourceFile}, name)
	case credentials:
		return plain.MatchString(name) && !slices.Contains(renewed, name)
	case authorities:
		return plain.MatchString(name) && (strings.HasSuffix(name, ".crt") || strings.HasSuffix(name, ".key"))
	case git:
		return strings.HasSuffix(name, bundled) && plain.MatchString(name)
	case layers + "/" + lifecycle.BootstrapLayer, layers + "/" + lifecycle.PlatformLayer:
		return name == "Pulumi."+environment+".yaml"
	}
	for _, states := range []string{layerState, teamStates, lostStates} {
		if below, ok := strings.CutPrefix(member, states+"/"); ok {
			return isState(below)
		}
	}
	return false
}

// The names of Pulumi's file backend.
const (
	bookkeeping = ".pulumi/"
	stateFiles  = bookkeeping + "stacks/"
	metaFile    = bookkeeping + "meta.yaml"
	stateSuffix = ".json"
)

// isState reports whether a path below a folder with file backends is that of a state, or of the file with the backend's version.
func isState(name string) bool {
	at := strings.LastIndex("/"+name, "/"+bookkeeping)
	if at < 0 {
		return false
	}
	own := name[at:]
	return own == metaFile || strings.HasPrefix(own, stateFiles) && strings.HasSuffix(own, stateSuffix)
}
