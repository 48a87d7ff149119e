package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Grant gives a command access to a file, or to a folder and everything below it. A
// path that does not exist grants nothing.
type Grant struct {
	// Path is the absolute path of the file or folder.
	Path string

	// Write permits the command to change the file or folder, but not to execute it.
	// Without Write, the command may read and execute it.
	Write bool
}

// systemFiles lists the files that every program may expect. None of them contains a
// secret. /proc is absent, because it shows other processes.
var systemFiles = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64",
	"/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/crypto-policies",
	"/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/mime.types",
	"/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf",
	"/etc/services", "/etc/protocols", "/etc/passwd", "/etc/group",
	"/proc/cpuinfo", "/proc/meminfo",
	"/dev/random", "/dev/urandom",
}

// devices lists devices that the command may also write to.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full"}

// Grants returns the usual grants of a command: write access to its own folders, and
// read access to the programs on path, which has the form of PATH, and to the system's
// files.
func Grants(path string, own ...string) []Grant {
	var grants []Grant
	for _, path := range slices.Concat(own, devices) {
		grants = append(grants, Grant{Path: path, Write: true})
	}
	for _, path := range slices.Concat(systemFiles, programs(path, own)) {
		grants = append(grants, Grant{Path: path})
	}
	return grants
}

// programs returns the folders on path, and the targets of links to pulumi and its
// plugins in them. programs omits a folder that contains one of the command's own
// folders, because that grant would expose the files beside the command's folder.
func programs(path string, own []string) []string {
	var found []string
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if !slices.ContainsFunc(own, func(o string) bool { return holds(dir, o) }) {
			found = append(found, dir)
		}
		// A folder on the path may be missing.
		tools, _ := os.ReadDir(dir)
		for _, tool := range tools {
			if !strings.HasPrefix(tool.Name(), "pulumi") {
				continue
			}
			if file, err := filepath.EvalSymlinks(filepath.Join(dir, tool.Name())); err == nil {
				found = append(found, file)
			}
		}
	}
	return found
}

// holds reports whether path lies in dir. holds resolves symbolic links in both.
func holds(dir, path string) bool {
	rel, err := filepath.Rel(resolved(dir), resolved(path))
	return err == nil && filepath.IsLocal(rel)
}

func resolved(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return path
}
