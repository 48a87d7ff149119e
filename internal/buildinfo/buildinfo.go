// Package buildinfo holds the version of Strata, and tells from which commit this program was built.
package buildinfo

import (
	"runtime"
	"runtime/debug"

	"golang.org/x/mod/module"
)

// Version is the version of Strata, and the tag of the operator's image.
const Version = "v0.1.0"

// commit is the commit, and modified is "true" or "false". `make release` sets both by the linker, because the information
// that Go adds depends on the tags and the depth of the clone.
var commit, modified string

// Info describes a build of Strata.
type Info struct {
	Version string `json:"version"`
	// Commit is the full hash of the commit, its first 12 digits after a `go install` of that commit, or empty if the build
	// does not know it.
	Commit string `json:"commit,omitempty"`
	// Modified says that the files differed from the commit.
	Modified bool   `json:"modified"`
	Go       string `json:"go"` // the version of Go, such as "go1.26.8"
	OS       string `json:"os"` // in the form of runtime.GOOS
	Arch     string `json:"arch"`
}

// Read returns the description of this program.
func Read() Info {
	info := Info{Version: Version, Commit: commit, Modified: modified == "true", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if build, ok := debug.ReadBuildInfo(); ok && commit == "" {
		info.Commit, info.Modified = fromGo(build)
	}
	return info
}

// fromGo returns what the go command has recorded.
func fromGo(build *debug.BuildInfo) (commit string, modified bool) {
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	if commit == "" && module.IsPseudoVersion(build.Main.Version) {
		commit, _ = module.PseudoVersionRev(build.Main.Version) // The go command has downloaded the commit.
	}
	return commit, modified
}
