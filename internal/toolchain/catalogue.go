package toolchain

import (
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// A bundle is a group of tools that are built from one pinned module and share one cache folder.
type bundle struct {
	name   string // first part of the cache folder's name
	module string // folder below tools/ with the go.mod
	tools  []tool
}

// A tool is one program, or one folder that a program writes.
type tool struct {
	name string

	// pkg is the main package. A path that starts with "./" is a package of this repository in the module's folder.
	// Tools of a bundle with the same package and flags are one program, which has a link for each name.
	pkg string

	// pin is the module whose version in go.mod is the tool's version.
	pin string

	// settings returns the linker's -X settings that tell the program its version. Nil means none.
	settings func(version string) []string

	// tags are build tags, separated by commas.
	tags string

	// mains are the modules whose programs pkg links. The build compiles copies of them, in which the main package is an
	// ordinary package with the function Main.
	mains []string

	// embeds are data files that pkg embeds and the repository does not contain.
	embeds embeds

	// folder says that the tool is the folder that pkg's program writes, instead of the program itself. The program's
	// argument is the folder's path.
	folder bool

	// versionArgs are arguments that make the program print its version. Nil means that the program prints no
	// version, or another one than the pin. Then the build information in the program counts.
	versionArgs []string
}

// embeds names files to copy from a module of the module cache into the folder of a main package.
type embeds struct {
	module string
	dir    string
	files  []string
}

// proxyModule is the module of the Cloud SQL Auth Proxy, whose main package is its root.
const proxyModule = "github.com/GoogleCloudPlatform/cloud-sql-proxy/v2"

// catalogue returns every tool that Strata uses on a local target of this system. The go.mod files hold the versions.
func catalogue() []bundle {
	// gVisor exists for Linux only, and pods are simulated elsewhere.
	return slices.DeleteFunc(everySystem(), func(b bundle) bool { return b.name == "runsc" && runtime.GOOS != "linux" })
}

// everySystem returns the tools of all systems.
func everySystem() []bundle {
	return []bundle{
		{name: "kubernetes", module: "kubernetes", tools: []tool{
			{name: "etcd", pkg: "go.etcd.io/etcd/server/v3", pin: "go.etcd.io/etcd/server/v3", versionArgs: []string{"--version"}},
			kubernetes("kube-apiserver"),
			kubernetes("kube-controller-manager"),
			kubernetes("kube-scheduler"),
		}},
		{name: "flux", module: "flux", tools: []tool{
			flux("source-controller"),
			flux("kustomize-controller"),
			flux("helm-controller"),
			// Its packages take 33 MB when they are initialised, so no other controller contains them.
			{name: "notification-controller", pkg: "github.com/fluxcd/notification-controller", pin: "github.com/fluxcd/notification-controller"},
		}},
		{name: "flux-manifests", module: "flux", tools: []tool{
			{name: "flux-manifests", pkg: "./manifests", pin: "github.com/fluxcd/flux2/v2", folder: true},
		}},
		{name: "pulumi", module: "pulumi", tools: []tool{
			{
				name: "pulumi", pkg: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi", pin: "github.com/pulumi/pulumi/pkg/v3",
				settings:    variables("github.com/pulumi/pulumi/sdk/v3/go/common/version.Version"),
				versionArgs: []string{"version"},
			},
			{
				name: "pulumi-language-yaml", pkg: "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml", pin: "github.com/pulumi/pulumi-yaml",
				settings: variables("github.com/pulumi/pulumi-yaml/pkg/version.Version"),
			},
		}},
		{name: "pulumi-kubernetes", module: "pulumi-kubernetes", tools: []tool{
			{
				name: "pulumi-resource-kubernetes", pkg: "./", pin: "github.com/pulumi/pulumi-kubernetes/sdk/v4",
				settings: func(version string) []string {
					return []string{"main.version=" + strings.TrimPrefix(version, "v")}
				},
				embeds: embeds{
					module: "github.com/pulumi/pulumi-kubernetes/provider/v4",
					dir:    "cmd/pulumi-resource-kubernetes",
					files:  []string{"schema.json", "terraform-mapping.json"},
				},
			},
		}},
		{name: "dolt", module: "dolt", tools: []tool{
			{name: "dolt", pkg: "./", pin: "github.com/dolthub/dolt/go", tags: "gms_pure_go"},
		}},
		{name: "cloud-sql-proxy", module: "cloud-sql-proxy", tools: []tool{
			{name: "cloud-sql-proxy", pkg: proxyModule, pin: proxyModule, versionArgs: []string{"--version"}},
		}},
		{name: "runsc", module: "runsc", tools: []tool{
			{name: "runsc", pkg: "./", pin: "gvisor.dev/gvisor"},
		}},
	}
}

func kubernetes(name string) tool {
	return tool{
		name: name,
		pkg:  "./", // the program for all three names
		pin:  "k8s.io/kubernetes",
		settings: func(version string) []string {
			const pkg = "k8s.io/component-base/version."
			major, minor, _ := strings.Cut(strings.TrimPrefix(semver.MajorMinor(version), "v"), ".")
			return []string{pkg + "gitVersion=" + version, pkg + "gitMajor=" + major, pkg + "gitMinor=" + minor}
		},
		versionArgs: []string{"--version"},
	}
}

// flux returns one of the controllers of Flux that are one program.
func flux(name string) tool {
	return tool{
		name:  name,
		pkg:   "./_controllers", // the underscore hides it from the go command, which cannot compile it without the copies
		pin:   "github.com/fluxcd/" + name,
		mains: []string{"github.com/fluxcd/source-controller", "github.com/fluxcd/kustomize-controller", "github.com/fluxcd/helm-controller"},
	}
}

// variables returns a settings function that sets one variable to the version.
func variables(variable string) func(string) []string {
	return func(version string) []string { return []string{variable + "=" + version} }
}

// same returns the names of the other tools that are the same program as tl.
func (b bundle) same(tl tool) []string {
	var names []string
	for _, other := range b.tools {
		// A program that links the programs of several modules is not told its version.
		pinned := other.pin == tl.pin || len(other.mains) > 0 && slices.Equal(other.mains, tl.mains)
		if other.name != tl.name && other.pkg == tl.pkg && pinned && other.tags == tl.tags && !other.folder {
			names = append(names, other.name)
		}
	}
	return names
}

// local reports whether the tool's main package belongs to this repository.
func (t tool) local() bool { return strings.HasPrefix(t.pkg, "./") }

// environment returns the variables that replace the user's in every build. They are part of the address. No tool needs a
// C compiler.
func environment() []string {
	return []string{"CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off", "GOOS=" + runtime.GOOS, "GOARCH=" + runtime.GOARCH}
}

// flags returns the flags of go build for the tool at a version.
func (t tool) flags(version string) []string {
	linker := []string{"-s", "-w"}
	if t.settings != nil {
		for _, setting := range t.settings(version) {
			linker = append(linker, "-X", setting)
		}
	}
	flags := []string{"-trimpath", "-ldflags", strings.Join(linker, " ")}
	if t.tags != "" {
		flags = append(flags, "-tags", t.tags)
	}
	return flags
}
