package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// Grant is a file, or a folder with all below it, that a command may use. What is
// not there grants nothing.
type Grant struct {
	// Path is the absolute path of the file or folder.
	Path string

	// Write allows to change it, but not to execute it; without it a command may
	// read and execute.
	Write bool
}

// systemFiles is what every program may count on, and nothing that is a secret.
// /proc is not among it: it shows other processes.
var systemFiles = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64",
	"/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/crypto-policies",
	"/etc/ld.so.cache", "/etc/alternatives", "/etc/localtime", "/etc/mime.types",
	"/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/nsswitch.conf", "/etc/gai.conf",
	"/etc/services", "/etc/protocols", "/etc/passwd", "/etc/group",
	"/proc/cpuinfo", "/proc/meminfo",
	"/dev/random", "/dev/urandom",
}

// devices may be written as well.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full"}

// Grants returns what a command may use: the folders of its own, which it may
// change, the programs on path (of the form of PATH), and what the system offers to
// everyone.
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

// programs returns the folders on the given path, and the files that pulumi and
// its plugins in them are links to. A folder that holds one of the command's own would
// open what lies beside it, and is left out.
func programs(path string, own []string) []string {
	var found []string
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if !slices.ContainsFunc(own, func(o string) bool { return holds(dir, o) }) {
			found = append(found, dir)
		}
		// Of a list of fixed form there is no error.
		tools, _ := filepath.Glob(filepath.Join(escape.Replace(dir), "pulumi*"))
		for _, tool := range tools {
			if file, err := filepath.EvalSymlinks(tool); err == nil {
				found = append(found, file)
			}
		}
	}
	return found
}

// escape makes a path match itself only.
var escape = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// holds tells whether path lies in dir, by whatever links they are named.
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
