package e2e

import (
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// machineKey is the key under which rememberMachine stores the state of the machine for nothingLeft.
type machineKey struct{}

// machine is the state of this machine that no platform may change. Namespaces are not part of it: one lives as long as a
// process, a mount or an open file of it, and processes and mounts are.
type machine struct {
	// lines are the mounts, the network interfaces and the values of the sysctls.
	lines map[string]bool
	// user is the home folder of the script's user, outside the cache.
	user string
	// processes are those of the sandboxes, see sandboxes, as "PID START".
	processes map[string]bool
}

// rememberMachine: machine — remembers the state of the machine for nothingleft, and gives strata an empty home folder of the user.
func rememberMachine(ts *testscript.TestScript, _ bool, _ []string) {
	m := ts.Value(machineKey{}).(*machine)
	m.user, m.processes = filepath.Join(ts.Getenv("PLATFORM"), ".user"), map[string]bool{}
	ts.Check(os.Mkdir(m.user, 0o700))
	ts.Setenv("HOME", m.user)
	var err error
	m.lines, err = machineLines()
	ts.Check(err)
}

// changed returns the differences between the remembered state and the present one, and nothing if no state was remembered.
func (m *machine) changed() ([]string, error) {
	if m.lines == nil {
		return nil, nil
	}
	lines, err := machineLines()
	if err != nil {
		return nil, err
	}
	var left []string
	for line := range lines {
		if !m.lines[line] {
			left = append(left, "new: "+line)
		}
	}
	for line := range m.lines {
		if !lines[line] {
			left = append(left, "gone: "+line)
		}
	}
	for id := range m.processes {
		if lives(id) {
			left = append(left, "the process of a sandbox: "+id)
		}
	}
	err = filepath.WalkDir(m.user, func(path string, entry fs.DirEntry, err error) error {
		// The go command keeps its counters there.
		if err == nil && !entry.IsDir() && !strings.HasPrefix(path, filepath.Join(m.user, ".config", "go")+"/") {
			left = append(left, "the file "+path)
		}
		return err
	})
	slices.Sort(left)
	return left, err
}

// unstable are the writable sysctls whose values the kernel changes by itself, and folders with other things than settings.
var unstable = []string{"kernel/ns_last_pid", "kernel/perf_event_max_sample_rate", "kernel/tainted", "kernel/random", "fs/binfmt_misc"}

// machineLines returns a line for each mount, network interface and writable sysctl. Systems without /proc have the interfaces.
func machineLines() (map[string]bool, error) {
	lines := map[string]bool{}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	for line := range strings.Lines(string(mounts)) {
		lines["mount "+strings.TrimSpace(line)] = true
	}
	interfaces, err := net.Interfaces()
	for _, i := range interfaces {
		lines["interface "+i.Name] = true
	}
	const settings = "/proc/sys"
	_ = filepath.WalkDir(settings, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(settings, path)
		if err != nil || slices.Contains(unstable, name) {
			if entry != nil && entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && info.Mode()&0o222 != 0 {
			if value, err := os.ReadFile(path); err == nil {
				lines["sysctl "+name+"="+strings.Join(strings.Fields(string(value)), " ")] = true
			}
		}
		return nil
	})
	return lines, err
}

// statOf returns the parent and the start time of a process (proc(5): the fourth and the 22nd field of stat), or false if it has
// ended. A zombie has ended.
func statOf(pid int) (parent int, start string, ok bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, "", false
	}
	fields := strings.Fields(string(raw[strings.LastIndexByte(string(raw), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return 0, "", false
	}
	parent, err = strconv.Atoi(fields[1])
	return parent, fields[19], err == nil
}

// lives reports whether a process runs, by "PID START".
func lives(id string) bool {
	number, start, _ := strings.Cut(id, " ")
	pid, _ := strconv.Atoi(number)
	_, now, ok := statOf(pid)
	return ok && now == start
}

// sandboxes returns the process that hosts the sandboxes of a supervisor, or 0, and its descendants with it, as "PID START".
func sandboxes(supervisor int) (host int, all []string) {
	parents, starts := map[int]int{}, map[int]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		parent, start, ok := statOf(pid)
		if !ok {
			continue
		}
		parents[pid], starts[pid] = parent, start
		if line, _ := os.ReadFile(file); parent == supervisor && strings.HasPrefix(string(line), "strata-sandboxes\x00") {
			host = pid
		}
	}
	for pid := range parents {
		for ancestor := pid; host != 0 && ancestor > 1; ancestor = parents[ancestor] {
			if ancestor == host {
				all = append(all, fmt.Sprintf("%d %s", pid, starts[pid]))
			}
		}
	}
	return host, all
}
