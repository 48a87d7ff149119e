package e2e

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

// killed: killed WHO AFTER PROCESS ARGS... — calls strata and kills it midway with SIGKILL. WHO is strata, for the call
// itself, or supervisor, for the supervisor of the home. It waits until the output of the call matches the regexp AFTER,
// and then until a process of the home has PROCESS in its command line; an empty PROCESS means no wait. With
// leaving:PROCESS it waits, before it looks for the process, until the home records a down and a Stack is being deleted.
// The call must still run at that time. A killed call must fail; a call whose supervisor is killed between two steps may
// succeed, because the next step starts another supervisor.
func killed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: killed WHO AFTER PROCESS ARGS...")
	}
	who, after, process := args[0], regexp.MustCompile(args[1]), args[2]
	command := exec.Command(filepath.Join(strataDir, "strata"), args[3:]...)
	command.Dir, command.Env = ts.MkAbs("."), os.Environ()
	for _, name := range []string{"STRATA_HOME", "TMPDIR", "GIT_CONFIG_GLOBAL", "XDG_CACHE_HOME"} {
		command.Env = append(command.Env, name+"="+ts.Getenv(name))
	}
	stderr, err := command.StderrPipe()
	ts.Check(err)
	ts.Check(command.Start())
	said := make(chan string)
	go func() {
		defer close(said)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			said <- lines.Text()
		}
		_, _ = io.Copy(io.Discard, stderr)
	}()
	ok := args[1] == ""
	for !ok {
		line, more := <-said
		if !more {
			ts.Fatalf("strata %s ended before it printed %s: %v", strings.Join(args[3:], " "), after, command.Wait())
		}
		ts.Logf("%s", line)
		ok = after.MatchString(line)
	}
	ended := make(chan error, 1)
	go func() {
		for line := range said {
			ts.Logf("%s", line)
		}
		ended <- command.Wait()
	}()
	h, err := home.At(ts.Getenv("STRATA_HOME"))
	ts.Check(err)
	word, leaving := strings.CutPrefix(process, "leaving:")
	for leaving && !destroys(h) || word != "" && !runs(h.Dir(), word) {
		select {
		case err := <-ended:
			ts.Fatalf("strata %s ended before the start of %s: %v", strings.Join(args[3:], " "), process, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	pid := command.Process.Pid
	if who == "supervisor" {
		pid = h.Holder()
	}
	// The kernel would send the signal to a whole process group.
	if pid <= 1 {
		ts.Fatalf("the process to kill is unknown: %d", pid)
	}
	ts.Check(syscall.Kill(pid, syscall.SIGKILL))
	select {
	case err := <-ended:
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) && (err != nil || who != "supervisor") {
			ts.Fatalf("strata %s ended with %v in spite of the kill", strings.Join(args[3:], " "), err)
		}
	case <-time.After(2 * time.Minute):
		ts.Check(command.Process.Kill())
		ts.Fatalf("strata %s still runs two minutes after the kill", strings.Join(args[3:], " "))
	}
}

// destroys reports whether the home records a down and a Stack is being deleted.
func destroys(h home.Home) bool {
	if _, begun := h.DownBegun(); !begun {
		return false
	}
	client, err := clientOf(h.AdminKubeconfig())
	if err != nil {
		return false
	}
	raw, err := client.Discovery().RESTClient().Get().AbsPath("/apis/pulumi.com/v1/stacks").DoRaw(context.Background())
	var list unstructured.UnstructuredList
	return err == nil && list.UnmarshalJSON(raw) == nil &&
		slices.ContainsFunc(list.Items, func(o unstructured.Unstructured) bool { return o.GetDeletionTimestamp() != nil })
}

// runs reports whether a process has both the home and a word in its command line.
func runs(home, word string) bool {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		line, _ := os.ReadFile(path)
		if filepath.Base(filepath.Dir(path)) != strconv.Itoa(os.Getpid()) && strings.Contains(string(line), home) && strings.Contains(string(line), word) {
			return true
		}
	}
	return false
}
