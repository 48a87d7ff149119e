package doctor

import (
	"errors"
	"fmt"
	"go/version"
	"strconv"
	"strings"

	"github.com/strata-platform/strata/internal/local/machine/sandboxes"
	"github.com/strata-platform/strata/internal/toolchain"
)

const (
	gigabyte = 1_000_000_000

	// A platform with one team takes leastMemory when everything is ready. Builds need memoryToBuild, because of Go's
	// linker.
	leastMemory    = 1_500_000_000
	memoryToRun    = 2 * gigabyte
	memoryToBuild  = 4 * gigabyte
	spaceToBuild   = 10 * gigabyte // for the tools and Go's build cache
	leastSpace     = gigabyte / 2
	goodSpace      = 2 * gigabyte
	leastOpenFiles = 4096
	worthPruning   = gigabyte // of unused tools

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
	checkSystem, checkGo, checkGit, checkTools, checkLeftover, checkCores, checkMemory, checkAccess, checkSpace, checkOpenFiles,
	checkLoopback, checkPorts, checkConfinement, checkPods, checkSupervisor, checkSharing, checkKubectl, notes,
}

// checkSystem checks the operating system and the user.
func checkSystem(f Facts) []Finding {
	if f.System != "linux" {
		return found("system", Warning, "use Linux where teams do not trust each other", "%s: processes may outlive a supervisor that is killed", f.System)
	}
	if f.Root {
		return found("system", Warning, "run strata as an ordinary user", "linux, as root: the commands of teams' Programs keep root's capabilities")
	}
	return found("system", OK, "", "linux")
}

// checkGo checks for a go command that can build the tools. A machine with all tools needs none.
func checkGo(f Facts) []Finding {
	const remedy = "install Go from https://go.dev/dl and put it on PATH"
	needed := strings.TrimPrefix(f.NeedsGo, "go")
	var problem string
	more := ", or take the tools from a release: `strata toolchain fetch`"
	switch {
	case errors.Is(f.GoError, toolchain.ErrNoGo):
		problem = toolchain.ErrNoGo.Error()
	case f.GoError != nil:
		problem = f.GoError.Error()
	case version.Compare(f.Go, f.NeedsGo) < 0:
		problem, more = fmt.Sprintf("%s, but Strata needs %s or newer", f.Go, needed), ", or set GOTOOLCHAIN=auto"+more
	default:
		return found("go", OK, "", "%s (Strata needs %s or newer, and no C compiler)", f.Go, needed)
	}
	if len(f.Tools) > 0 && len(missing(f)) == 0 {
		return found("go", Note, "", "%s: only tools that are missing and layers with programs of your own need it", problem)
	}
	return found("go", Missing, remedy+more, "%s", problem)
}

// checkGit checks for a git with the environment variables and the server that Strata uses.
func checkGit(f Facts) []Finding {
	needed := fmt.Sprintf("%d.%d", leastGitMajor, leastGitMinor)
	switch {
	case f.GitError != nil:
		return found("git", Missing, "install git, "+needed+" or newer", "%v", f.GitError)
	case olderGit(f.Git):
		return found("git", Missing, "install git, "+needed+" or newer", "%s, but Strata needs %s or newer", f.Git, needed)
	case !f.HTTPBackend:
		return found("git", Missing, "install the whole of git: some systems have its http-backend in a package of its own, for example git-daemon", "%s without http-backend", f.Git)
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

// checkTools reports which tools are built, and which are the user's own.
func checkTools(f Facts) []Finding {
	if f.ToolsError != nil {
		return found("tools", Missing, "fix this error, then run `strata doctor` again", "%v", f.ToolsError)
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
	const remedy = "`strata toolchain build --all` builds them, at most in about 20 minutes, and `strata toolchain fetch` takes them from a release; " +
		"`strata up` builds those that it needs"
	which := fmt.Sprintf("%d of %d are not built yet: %s", len(names), len(f.Tools), strings.Join(names, ", "))
	if len(names) == len(f.Tools) {
		which = fmt.Sprintf("none of %d is built yet", len(f.Tools))
	}
	return append(found("tools", Warning, remedy, "%s", which), findings...)
}

// checkLeftover reports cached tools that this version of Strata does not pin, if they take much space.
func checkLeftover(f Facts) []Finding {
	if f.Leftover < worthPruning || oldGo(f) {
		return nil
	}
	return found("tools", Note, "`strata toolchain prune` removes them", "%s of tools that this version of Strata does not use in %s", size(f.Leftover), f.Cache)
}

// checkLoopback checks whether databases can get loopback addresses of their own.
func checkLoopback(f Facts) []Finding {
	if f.Loopback != nil {
		return found("loopback", Warning, "use Linux, or add an alias to the loopback interface for the address that `strata up` names",
			"programs can listen only on 127.0.0.1 (%v): every database needs an address of its own", f.Loopback)
	}
	return found("loopback", OK, "", "all of 127.0.0.0/8, for databases")
}

// checkPorts reports the home's reserved ports that other programs use.
func checkPorts(f Facts) []Finding {
	var findings []Finding
	for _, taken := range f.TakenPorts {
		findings = append(findings, found("ports", Missing, "end that program, or name another home in STRATA_HOME", "%s", taken)...)
	}
	return findings
}

// checkConfinement checks the sandbox of teams' Programs. Namespaces suffice; Landlock is the replacement.
func checkConfinement(f Facts) []Finding {
	const update = "update the kernel"
	if f.Isolation == "" {
		return found("isolation", OK, "", "namespaces isolate the teams' Programs, the database servers and Flux")
	}
	findings := found("isolation", Warning, "allow user namespaces, on Linux 5.12 or newer",
		"none: a team's Program reaches every service of this machine: %s", f.Isolation)
	return append(findings, checkLandlock(f, update)...)
}

// checkPods checks whether pods run in sandboxes.
func checkPods(f Facts) []Finding {
	if f.Pods == nil {
		return found("pods", OK, "", "run in sandboxes of gVisor")
	}
	if unsupported, ok := errors.AsType[*sandboxes.UnsupportedError](f.Pods); ok {
		remedy := unsupported.Fix
		if unsupported.Reason == sandboxes.NotLinux {
			remedy = "use Linux, or run Strata in a virtual machine with Linux"
		}
		return found("pods", Warning, remedy, "are simulated: %v", unsupported.Err)
	}
	return found("pods", Warning, "read the error, and run doctor again", "are simulated: %v", f.Pods)
}

// checkLandlock checks the confinement of teams' Programs on systems without namespaces.
func checkLandlock(f Facts, update string) []Finding {
	switch {
	case f.Landlock == 0:
		return found("landlock", Warning, "use Linux 5.13 or newer with landlock among its security modules (lsm=...)",
			"none: a team's Program can read and change all files that this user can")
	case f.Landlock < landlockTruncates:
		return found("landlock", Warning, update+" to 6.2 or newer", "version %d: a team's Program can empty files of this user, and signal its processes", f.Landlock)
	case f.Landlock < landlockSignals:
		return found("landlock", Warning, update+" to 6.12 or newer", "version %d: a team's Program can signal processes of this user", f.Landlock)
	}
	return found("landlock", OK, "", "version %d confines teams' Programs", f.Landlock)
}

// checkKubectl notes that kubectl is missing. Strata itself does not use it.
func checkKubectl(f Facts) []Finding {
	if f.Kubectl {
		return nil
	}
	return found("kubectl", Note, "https://kubernetes.io/docs/tasks/tools", "not on PATH: Strata does not need it, but prints commands that use it")
}

// notes returns the limits of the local target that its users must know.
func notes(Facts) []Finding {
	return []Finding{
		{Check: "local", Level: Note, Found: "a pod whose registry does not answer is simulated, and says so"},
	}
}
