package doctor

import "fmt"

// checkCores checks the number of cores. Every figure in the docs is for two cores.
func checkCores(f Facts) []Finding {
	if f.Cores < 2 {
		return found("cores", Warning, "give this machine a second core", "%d: everything takes twice as long as the docs say", f.Cores)
	}
	return found("cores", OK, "", "%d", f.Cores)
}

// checkMemory checks the memory for a platform and, if tools are missing, for their build. The memory that a running
// platform takes is not free, so its user gets no warning.
func checkMemory(f Facts) []Finding {
	needed, what := int64(memoryToRun), "a platform takes up to 1.4 GB"
	if len(missing(f)) > 0 {
		needed, what = memoryToBuild, "building the tools takes up to 4 GB"
	}
	switch {
	case f.Memory == 0:
		return nil
	case f.Memory < leastMemory:
		return found("memory", Missing, "use a machine with 4 GB or more", "%s in all, but a platform takes up to 1.4 GB", size(f.Memory))
	case f.Supervisor == nil && f.FreeMemory < needed:
		return found("memory", Warning, "end other programs", "%s free of %s: %s", size(f.FreeMemory), size(f.Memory), what)
	}
	return found("memory", OK, "", "%s free of %s", size(f.FreeMemory), size(f.Memory))
}

// checkSpace checks the disks of the tools and of the home.
func checkSpace(f Facts) []Finding {
	good := int64(goodSpace)
	if len(missing(f)) > 0 {
		good = spaceToBuild
	}
	return append(
		checkFolder("cache", f.Cache, f.CacheFree, good, "free some space there, or set XDG_CACHE_HOME to a folder on another disk"),
		checkFolder("home", f.Home, f.HomeFree, goodSpace, "free some space there, or set STRATA_HOME to a folder on another disk")...)
}

// checkFolder checks the free space of a folder, in bytes. Less than leastSpace is an error, less than good a warning.
func checkFolder(name, dir string, free, good int64, remedy string) []Finding {
	switch {
	case free == 0:
		return nil
	case free < leastSpace:
		return found(name, Missing, remedy, "%s free in %s", size(free), dir)
	case free < good:
		return found(name, Warning, remedy, "%s free in %s, %s are better", size(free), dir, size(good))
	}
	return found(name, OK, "", "%s free in %s", size(free), dir)
}

// checkOpenFiles checks the hard limit of open files. Go programs raise their soft limit to it.
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

// size formats a number of bytes in gigabytes with one decimal, or in megabytes.
func size(bytes int64) string {
	if bytes < gigabyte {
		return fmt.Sprintf("%d MB", bytes/1_000_000)
	}
	return fmt.Sprintf("%.1f GB", float64(bytes)/gigabyte)
}
