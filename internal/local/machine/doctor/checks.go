package doctor

import (
	"fmt"
	"go/version"
	"strconv"
	"strings"

	"github.com/strata-platform/strata/internal/toolchain"
)

const (
	gigabyte = 1_000_000_000

	// These bounds are the memory of a platform with one team when everything is ready, and the additional memory of
	// Go's linker.
	leastMemory    = 1_500_000_000
	memoryToRun    = 2 * gigabyte
	memoryToBuild  = 4 * gigabyte
	spaceToBuild   = 10 * gigabyte // for the tools and Go's build cache
	leastSpace     = gigabyte / 2
	goodSpace      = 2 * gigabyte
	leastOpenFiles = 4096
	worthPruning   = gigabyte

	// leastGitMajor and leastGitMinor are the first version of Git that reads settings from the environment
	// (GIT_CONFIG_COUNT).
	leastGitMajor, leastGitMinor = 2, 31
)

// These are the versions of Landlock that can first restrict truncation and signals (landlock(7), "VERSIONS").
const (
	landlockTruncates = 3
	landlockSignals   = 6
)

// checks are all checks in the order of the report.
var checks = []func(Facts) []Finding{
	checkSystem, checkGo, checkGit, checkTools, checkLeftover, checkCores, checkMemory, checkSpace, checkOpenFiles,
	checkLoopback, checkPorts, checkConfinement, checkSupervisor, checkKubectl, notes,
}

func checkSystem(f Facts) []Finding {
	if f.System != "linux" {
		return found("system", Warning, "use Linux where teams do not trust each other", "%s: processes may outlive a supervisor that is killed", f.System)
	}
	if f.Root {
		return found("system", Warning, "run strata as an ordinary user", "linux, as root: what teams' Programs run keeps root's capabilities")
	}
	return found("system", OK, "", "linux")
}

func checkGo(f Facts) []Finding {
	const remedy = "install Go from https://go.dev/dl and put it on PATH"
	needed := strings.TrimPrefix(f.NeedsGo, "go")
	switch {
	case f.GoError != nil:
		return found("go", Lacking, remedy, "%v", f.GoError)
	case version.Compare(f.Go, f.NeedsGo) < 0:
		return found("go", Lacking, remedy+", or set GOTOOLCHAIN=auto", "%s, but %s is needed", f.Go, needed)
	}
	return found("go", OK, "", "%s (%s or newer is needed, a C compiler is not)", f.Go, needed)
}

func checkGit(f Facts) []Finding {
	needed := fmt.Sprintf("%d.%d", leastGitMajor, leastGitMinor)
	switch {
	case f.GitError != nil:
		return found("git", Lacking, "install git, "+needed+" or newer", "%v", f.GitError)
	case olderGit(f.Git):
		return found("git", Lacking, "install git, "+needed+" or newer", "%s, but %s is needed", f.Git, needed)
	case !f.HTTPBackend:
		return found("git", Lacking, "install the whole of git: some systems have its http-backend in a package of its own, for example git-daemon", "%s without http-backend", f.Git)
	}
	return found("git", OK, "", "%s, with http-backend", f.Git)
}

// olderGit reports whether a version of Git is older than the required one.
func olderGit(text string) bool {
	parts := strings.Split(text, ".")
	major, _ := strconv.Atoi(parts[0])
	minor := 0
	if len(parts) > 1 {
		minor, _ = strconv.Atoi(parts[1])
	}
	return major < leastGitMajor || major == leastGitMajor && minor < leastGitMinor
}

// missing returns the names of the tools that are not built yet.
func missing(f Facts) []string {
	var names []string
	for _, s := range f.Tools {
		if s.State == toolchain.Missing {
			names = append(names, s.Name)
		}
	}
	return names
}

func checkTools(f Facts) []Finding {
	if f.GoError != nil {
		return nil // without Go, doctor cannot list the tools
	}
	if f.ToolsError != nil {
		return found("tools", Lacking, "", "%v", f.ToolsError)
	}
	var findings []Finding
	for _, s := range f.Tools {
		if s.State == toolchain.Override {
			findings = append(findings, found("tools", Note, "", "%s is your own: %s=%s", s.Name, toolchain.OverrideVariable(s.Name), s.Path)...)
		}
	}
	names := missing(f)
	if len(names) == 0 {
		return append(found("tools", OK, "", "all %d are built", len(f.Tools)), findings...)
	}
	const remedy = "`strata toolchain build --all` builds them, which takes about 20 minutes for all; `strata up` does when they are needed"
	which := fmt.Sprintf("%d of %d are not built yet: %s", len(names), len(f.Tools), strings.Join(names, ", "))
	if len(names) == len(f.Tools) {
		which = fmt.Sprintf("none of %d is built yet", len(f.Tools))
	}
	return append(found("tools", Warning, remedy, "%s", which), findings...)
}

func checkLeftover(f Facts) []Finding {
	if f.Leftover < worthPruning {
		return nil
	}
	return found("tools", Note, "`strata toolchain prune` removes them", "%s of tools that this clone does not use in %s", size(f.Leftover), f.Cache)
}

func checkCores(f Facts) []Finding {
	if f.Cores < 2 {
		return found("cores", Warning, "give this machine a second core", "%d: everything takes twice as long as the docs say", f.Cores)
	}
	return found("cores", OK, "", "%d", f.Cores)
}

func checkMemory(f Facts) []Finding {
	needed, what := int64(memoryToRun), "a platform takes up to 1.4 GB"
	if len(missing(f)) > 0 {
		needed, what = memoryToBuild, "building the tools takes up to 4 GB"
	}
	switch {
	case f.Memory == 0:
		return nil
	case f.Memory < leastMemory:
		return found("memory", Lacking, "use a machine with 4 GB or more", "%s in all, but a platform takes up to 1.4 GB", size(f.Memory))
	case f.Supervisor == nil && f.FreeMemory < needed:
		return found("memory", Warning, "end other programs", "%s free of %s: %s", size(f.FreeMemory), size(f.Memory), what)
	}
	return found("memory", OK, "", "%s free of %s", size(f.FreeMemory), size(f.Memory))
}

func checkSpace(f Facts) []Finding {
	good := int64(goodSpace)
	if len(missing(f)) > 0 {
		good = spaceToBuild
	}
	return append(
		checkFolder("cache", f.Cache, f.CacheFree, good, "free some space there, or set XDG_CACHE_HOME to a folder on another disk"),
		checkFolder("home", f.Home, f.HomeFree, goodSpace, "free some space there, or set STRATA_HOME to a folder on another disk")...)
}

func checkFolder(name, dir string, free, good int64, remedy string) []Finding {
	switch {
	case free == 0:
		return nil
	case free < leastSpace:
		return found(name, Lacking, remedy, "%s free in %s", size(free), dir)
	case free < good:
		return found(name, Warning, remedy, "%s free in %s, %s are better", size(free), dir, size(good))
	}
	return found(name, OK, "", "%s free in %s", size(free), dir)
}

func checkOpenFiles(f Facts) []Finding {
	if f.OpenFiles == 0 {
		return nil
	}
	if f.OpenFiles < leastOpenFiles {
		return found("limits", Warning, fmt.Sprintf("raise the hard limit to %d or more: ulimit -Hn, /etc/security/limits.conf", leastOpenFiles),
			"a process may open %d files", f.OpenFiles)
	}
	return found("limits", OK, "", "a process may open %d files", f.OpenFiles)
}

func checkLoopback(f Facts) []Finding {
	if f.Loopback != nil {
		return found("loopback", Warning, "use Linux, or add an alias to the loopback interface for the address that `strata up` names",
			"only 127.0.0.1 can be listened on (%v): every database needs an address of its own", f.Loopback)
	}
	return found("loopback", OK, "", "all of 127.0.0.0/8, for databases")
}

func checkPorts(f Facts) []Finding {
	var findings []Finding
	for _, taken := range f.TakenPorts {
		findings = append(findings, found("ports", Lacking, "end that program, or begin a new home by STRATA_HOME", "%s", taken)...)
	}
	return findings
}

func checkConfinement(f Facts) []Finding {
	const update = "update the kernel"
	if f.Isolation == "" {
		return found("isolation", OK, "", "namespaces hold teams' Programs, their databases and Flux")
	}
	findings := found("isolation", Warning, "allow user namespaces, on Linux 5.12 or newer",
		"none: a team's Program reaches every service of this machine: %s", f.Isolation)
	return append(findings, checkLandlock(f, update)...)
}

// checkLandlock checks the confinement of teams' Programs on systems without namespaces.
func checkLandlock(f Facts, update string) []Finding {
	switch {
	case f.Landlock == 0:
		return found("landlock", Warning, "use Linux 5.13 or newer with landlock among its security modules (lsm=...)",
			"none: a team's Program can read and change all that this user can")
	case f.Landlock < landlockTruncates:
		return found("landlock", Warning, update+" to 6.2 or newer", "version %d: a team's Program can empty files of this user, and signal its processes", f.Landlock)
	case f.Landlock < landlockSignals:
		return found("landlock", Warning, update+" to 6.12 or newer", "version %d: a team's Program can signal processes of this user", f.Landlock)
	}
	return found("landlock", OK, "", "version %d confines teams' Programs", f.Landlock)
}

func checkKubectl(f Facts) []Finding {
	if f.Kubectl {
		return nil
	}
	return found("kubectl", Note, "https://kubernetes.io/docs/tasks/tools", "not on PATH: Strata does not need it, but prints commands that use it")
}

func notes(Facts) []Finding {
	return []Finding{
		{Check: "local", Level: Note, Found: "NetworkPolicies are accepted and not enforced on the local target"},
		{Check: "local", Level: Note, Found: "pods whose image is not in the process catalogue are simulated there, and say so"},
	}
}

// size formats a number of bytes in gigabytes with one decimal, or in megabytes.
func size(bytes int64) string {
	if bytes < gigabyte {
		return fmt.Sprintf("%d MB", bytes/1_000_000)
	}
	return fmt.Sprintf("%.1f GB", float64(bytes)/gigabyte)
}
