package stratatest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Process is a process of a platform.
type Process struct {
	Pid int
	// Line holds the arguments, separated by spaces.
	Line string
	// Resident is the resident memory in bytes.
	Resident int64
	// Share is the process's share of the memory, in bytes: a page that n processes use counts as a page divided by n.
	Share int64
	// CPU is the processor time since the start of the process.
	CPU time.Duration
}

// clockTick is the kernel's unit of process times (sysconf(3), _SC_CLK_TCK: 100 per second on every Linux that Go runs
// on).
const clockTick = 10 * time.Millisecond

// Processes returns the platform's current processes by process ID: all processes with its home in their arguments,
// except this one. Systems without /proc show none.
func (p *Platform) Processes() map[int]Process {
	found := map[int]Process{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		if pid == os.Getpid() || !bytes.Contains(line, []byte(p.Home)) {
			continue
		}
		// A process that has ended in the meantime does not count.
		if process, err := usage(dir); err == nil {
			process.Pid, process.Line = pid, strings.TrimSpace(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
			found[pid] = process
		}
	}
	return found
}

// share returns the value of the line Pss of a process's smaps_rollup (proc(5)) in bytes, or 0 without the line.
func share(rollup string) int64 {
	for line := range strings.Lines(rollup) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "Pss:" {
			kilobytes, _ := strconv.ParseInt(fields[1], 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}

// usage returns the memory and the processor time of a process (proc(5): the second field of statm is the resident pages;
// the 14th and 15th fields of stat are the user and system time, where the second field is the name in parentheses).
func usage(dir string) (Process, error) {
	statm, err := os.ReadFile(filepath.Join(dir, "statm"))
	if err != nil {
		return Process{}, err
	}
	rollup, err := os.ReadFile(filepath.Join(dir, "smaps_rollup"))
	if err != nil {
		return Process{}, err
	}
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return Process{}, err
	}
	pages := strings.Fields(string(statm))
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(pages) < 2 || len(fields) < 13 {
		return Process{}, fmt.Errorf("%s: not in the format of proc(5)", dir)
	}
	resident, err := strconv.ParseInt(pages[1], 10, 64)
	if err != nil {
		return Process{}, err
	}
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return Process{}, err
		}
		ticks += n
	}
	return Process{Resident: resident * int64(os.Getpagesize()), Share: share(string(rollup)), CPU: time.Duration(ticks) * clockTick}, nil
}
