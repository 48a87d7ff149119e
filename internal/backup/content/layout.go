// Package content says what a backup of a platform contains: the paths of its members, and what they mean.
//
// A backup contains no data of Google Cloud, emulated or not: it outlives the platform. It contains no objects of the cluster either:
// layer 2 and Flux create them again.
package content

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/lifecycle"
)

// Targets of a platform, as a manifest names them.
const (
	Local = "local"
	GKE   = "gke"
)

// Files and folders of a home, as paths of members. A backup of a platform on Google Cloud has the states, the repositories, the
// settings of the layers and the Secrets at the same paths.
const (
	PortsFile       = "home.json"
	EnvironmentFile = "environment"
	OperatorFile    = "operator"
	SourceFile      = "source"

	Credentials = "credentials"
	Authorities = "kubernetes/pki"
	Layers      = "layers"
	LayerStates = "state/platform"
	TeamStates  = "state/teams"
	LostStates  = "state/lost"
	Git         = "git"

	// SettingsFile is the name of the file with the settings of a layer's stack as `pulumi config --json --show-secrets` prints
	// them, in the folder of the layer. Only backups of a platform on Google Cloud have it.
	SettingsFile = "settings.json"
)

const (
	// Bundled ends the name of a repository's file.
	Bundled = ".bundle"
	// maxFile bounds the files except states and repositories, in bytes.
	maxFile = 1 << 20
)

var (
	// environments matches the name of an environment.
	environments = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)
	// plain matches the name of a file with a key or a secret.
	plain = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,199}$`)
)

// IsEnvironment reports whether an environment may have a name.
func IsEnvironment(name string) bool { return environments.MatchString(name) }

// renewed are the files in credentials that the next start creates again: for the control socket, for the engineer's login at the
// emulated Google Cloud, and for the data of etcd, which is lost.
var renewed = []string{"control", "engineer.json", "etcd", "etcd-encryption.yaml"}

// Allowed reports whether a backup of an environment on a target may contain a member. A path outside of this list may be that of a
// program or of its settings.
func Allowed(target, member, environment string) bool {
	folder, name := path.Split(member)
	folder = strings.TrimSuffix(folder, "/")
	ofHome := target == Local
	switch folder {
	case "":
		return ofHome && slices.Contains([]string{PortsFile, EnvironmentFile, OperatorFile, SourceFile}, name)
	case Credentials:
		return plain.MatchString(name) && (ofHome && !slices.Contains(renewed, name) || name == SecretsFile)
	case Authorities:
		return ofHome && plain.MatchString(name) && (strings.HasSuffix(name, ".crt") || strings.HasSuffix(name, ".key"))
	case Git:
		return strings.HasSuffix(name, Bundled) && plain.MatchString(name)
	case LayerFolder(lifecycle.BootstrapLayer), LayerFolder(lifecycle.PlatformLayer):
		return name == "Pulumi."+environment+".yaml" || !ofHome && name == SettingsFile
	}
	for _, states := range []string{LayerStates, TeamStates, LostStates} {
		if below, ok := strings.CutPrefix(member, states+"/"); ok {
			return isState(below)
		}
	}
	return false
}

// LayerFolder returns the folder with the settings of a layer.
func LayerFolder(layer string) string { return Layers + "/" + layer }

// LayerState returns the path of the state of a layer's stack, by its project.
func LayerState(project, environment string) string {
	return LayerStates + "/" + stateFiles + project + "/" + environment + stateSuffix
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
