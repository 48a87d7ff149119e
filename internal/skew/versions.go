package skew

import (
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// leastKubernetes maps minor versions of Flux to the oldest Kubernetes that `flux check --pre` accepts: the variable
// kubernetesConstraints in cmd/flux/check.go of github.com/fluxcd/flux2 at the tags of that version. It is the same in every
// release of a minor version: v2.7.0 to v2.7.5, v2.8.0 to v2.8.8, v2.9.0 to v2.9.4. A test compares the pinned version.
var leastKubernetes = map[string]string{
	"v2.7": "v1.32.0",
	"v2.8": "v1.33.0",
	"v2.9": "v1.33.0",
}

// LeastKubernetes returns the oldest version of Kubernetes that a version of Flux supports; known is false for a version whose
// minimum this strata does not know.
func LeastKubernetes(flux string) (least string, known bool) {
	least, known = leastKubernetes[semver.MajorMinor(flux)]
	return least, known
}

// Newer reports whether version a is newer than b. An unknown version is not newer, and no version is newer than an unknown one.
func Newer(a, b string) bool { return older(b, a) }

// older reports whether version a is older than b. Versions of clusters have a suffix that is no pre-release, such as
// v1.33.1-gke.1584000, so that only the numbers count.
func older(a, b string) bool {
	a, b = numbers(a), numbers(b)
	return a != "" && b != "" && semver.Compare(a, b) < 0
}

// Differ reports whether two known versions differ.
func Differ(a, b string) bool { return a != "" && b != "" && a != b }

func numbers(version string) string {
	version = prefixed(version)
	version, _, _ = strings.Cut(version, "-")
	version, _, _ = strings.Cut(version, "+")
	if !semver.IsValid(version) {
		return ""
	}
	return version
}

// prefixed returns a version in the form of Go's modules, with the prefix v.
func prefixed(version string) string {
	if version == "" || strings.HasPrefix(version, "v") {
		return version
	}
	return "v" + version
}

func major(version string) string { return semver.Major(prefixed(version)) }
func minor(version string) string { return semver.MajorMinor(prefixed(version)) }

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// pulumiSDK is the path of Pulumi's SDK, and pluginSDK begins those of the providers, followed by /sdk and the major version.
const (
	pulumiSDK = "github.com/pulumi/pulumi/sdk/v3"
	pluginSDK = "github.com/pulumi/pulumi-"
)

// SDKs returns the version of Pulumi's SDK in this program, and those of the providers' SDKs by the names of their plugins.
func SDKs() (pulumi string, plugins map[string]string) {
	if info, ok := debug.ReadBuildInfo(); ok {
		return sdksOf(info.Deps)
	}
	return "", nil
}

func sdksOf(deps []*debug.Module) (pulumi string, plugins map[string]string) {
	plugins = map[string]string{}
	for _, dep := range deps {
		if dep.Path == pulumiSDK {
			pulumi = dep.Version
		}
		if name, of, found := strings.Cut(strings.TrimPrefix(dep.Path, pluginSDK), "/"); found && strings.HasPrefix(dep.Path, pluginSDK) && strings.HasPrefix(of, "sdk/") {
			plugins[name] = dep.Version
		}
	}
	return pulumi, plugins
}
