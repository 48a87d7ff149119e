package attack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// forEvents applies a shell command to each named pipe $f that the operator reads during a run. The shell's working
// folder is the project's.
func forEvents(do string) string {
	return `set -- $(find "$HOME/.." "$PWD/.." -maxdepth 3 -name 'pipe-*' 2>/dev/null); test $# -gt 0 || exit ` + nothingFound + `; for f; do ` + do + `; done`
}

// nothingFound is the exit code of a script that finds no target.
const nothingFound = "44"

// runFileAttacks replace files that the operator reads after a run has written them. It does not matter whether the run
// succeeds: each Stack must end, and the operator must keep working.
func runFileAttacks() []attack {
	list := []attack{}
	for name, script := range map[string]string{
		"a FIFO in place of the events":         forEvents(`rm -f $f; mkfifo $f`),
		"3 GB in place of the events":           forEvents(`rm -f $f; truncate -s 3G $f`),
		"a link in place of the events":         forEvents(`rm -f $f; ln -s {ENGINEER} $f`),
		"a folder in place of the events":       forEvents(`rm -f $f; mkdir -p $f/a`),
		"an endless device in place of events":  forEvents(`rm -f $f; ln -s /dev/zero $f`),
		"links in place of the project's files": `for f in $(find "$HOME/.." -maxdepth 2 -name 'Pulumi*.yaml'); do rm -f $f; ln -s {ADMIN} $f; done`,
		"folders that nobody can enter":         `mkdir -p "$HOME/a/b/c"; chmod 0 "$HOME/a/b" "$HOME/a"`,
		"a FIFO in place of the state":          `for f in $(find / -xdev -path '*team-mallory*' -name '*.json' 2>/dev/null); do rm -f $f; mkfifo $f; done`,
		"a process that outlives its run":       `(setsid sleep 86399 >/dev/null 2>&1 &)`,
	} {
		list = append(list, attack{name: name, class: filesOfRuns, as: byRun, do: ended(script), unharmed: operatorIsFine})
	}
	return list
}

// ended runs a script and waits until the Stack is destroyed again. It ignores the result of the run.
func ended(script string) func(context.Context, *field) error {
	return func(ctx context.Context, f *field) error {
		err := f.mallory.script(ctx, f.fill(script))
		if err != nil && strings.Contains(err.Error(), "exit code "+nothingFound) {
			return errors.New("the script has found no target")
		}
		if errors.Is(err, errStopped) && !strings.Contains(err.Error(), "does not finish") {
			return nil
		}
		return err
	}
}

// mostMemory is the maximum memory of the operator after an attack, in bytes.
const mostMemory = 1 << 30

// operatorIsFine returns an error if the operator does not run or uses too much memory, if a process has outlived its
// run, or if the victim cannot run a Program afterwards.
func operatorIsFine(ctx context.Context, f *field) error {
	found := false
	for _, p := range f.platform.Processes() {
		if strings.Contains(p.Line, "operator") && !strings.Contains(p.Line, "supervisor") {
			found = true
			if p.Resident > mostMemory {
				return fmt.Errorf("the operator uses %d MB", p.Resident>>20)
			}
		}
	}
	if !found && len(f.platform.Processes()) > 0 {
		return errors.New("the operator does not run")
	}
	if lines, err := os.ReadDir("/proc"); err == nil {
		for _, entry := range lines {
			line, _ := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
			if strings.Contains(string(line), "sleep\x0086399") {
				return errors.New("a process has outlived its run")
			}
		}
	}
	return f.web.runs(ctx, "after", unique())
}
