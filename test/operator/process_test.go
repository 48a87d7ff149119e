package operator_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/test/stratatest"
)

// operator is a running operator.
type operator struct {
	cmd *exec.Cmd

	// work is the parent folder of the runs' folders.
	work string

	log buffer

	// ended is closed when the process has exited, with its error in err.
	ended chan struct{}
	err   error
}

// startOperator runs the operator in the same way as the strata command in its pod, until the test ends or calls stop or
// kill. args follow the arguments that set its folders.
func startOperator(t testing.TB, c *cluster, args ...string) *operator {
	t.Helper()
	o := prepareOperator(t, c, args...)
	o.start(t)
	return o
}

func prepareOperator(t testing.TB, c *cluster, args ...string) *operator {
	t.Helper()
	executable := stratatest.Executable(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	content := c.kubeconfig(t, platform.OperatorNamespace, platform.OperatorAccount)
	if err := os.WriteFile(kubeconfig, content, 0o600); err != nil {
		t.Fatal(err)
	}
	o := &operator{work: filepath.Join(t.TempDir(), "work")}
	o.cmd = exec.CommandContext(t.Context(), executable, append([]string{
		"operator", "--health-addr=", "--metrics-addr=", "--work-dir=" + o.work, "--file-backend-root=" + c.state, "--pass-env=PATH",
		"--namespace=" + platform.OperatorNamespace,
	}, args...)...)
	o.cmd.Env = []string{"PATH=" + c.tools, "KUBECONFIG=" + kubeconfig, "HOME=" + t.TempDir(), "OPERATOR_SECRET=canary-operator"}
	o.cmd.Stderr = &o.log
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the operator's log:\n%s", o.log.String())
		}
	})
	return o
}

func (o *operator) start(t testing.TB) {
	t.Helper()
	if err := o.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd, ended := o.cmd, make(chan struct{})
	o.ended = ended
	go func() {
		defer close(ended)
		o.err = cmd.Wait()
	}()
	t.Cleanup(func() {
		left := o.children()
		_ = cmd.Process.Kill()
		<-ended
		for _, p := range left {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	})
}

// again starts another process with the same folders, log and arguments, like a restarted pod.
func (o *operator) again(t testing.TB) {
	t.Helper()
	old := o.cmd
	o.cmd = exec.CommandContext(t.Context(), old.Path, old.Args[1:]...)
	o.cmd.Env, o.cmd.Stderr = old.Env, old.Stderr
	o.start(t)
}

// stop ends the operator gracefully.
func (o *operator) stop(t testing.TB) {
	t.Helper()
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if <-o.ended; o.err != nil {
		t.Errorf("the operator failed at its end: %v", o.err)
	}
}

// kill kills the operator with SIGKILL, and waits for its exit.
func (o *operator) kill(t testing.TB) {
	t.Helper()
	if err := o.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-o.ended
}

// process is a descendant of the operator's process.
type process struct {
	pid  int
	line string
}

// children returns the operator's descendants: pulumi, its language host and its plugins.
func (o *operator) children() []process {
	parents, lines := map[int]int{}, map[int]string{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		parents[pid], _ = strconv.Atoi(fields[1])
		lines[pid] = strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
	}
	var found []process
	for pid, line := range lines {
		for parent := parents[pid]; parent > 1; parent = parents[parent] {
			if parent == o.cmd.Process.Pid {
				found = append(found, process{pid, line})
				break
			}
		}
	}
	return found
}

// runs returns the existing folders of runs.
func (o *operator) runs(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(o.work, "run-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// memory returns the current memory of the operator in bytes, without its children (proc(5)): own is its private memory
// (RssAnon). resident also includes the pages of files (VmRSS), mainly the executable's, which it shares with other
// processes of the same program.
func (o *operator) memory(t testing.TB) (own, resident float64) {
	t.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", o.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[2] != "kB" {
			continue
		}
		kilobytes, _ := strconv.ParseFloat(fields[1], 64)
		switch fields[0] {
		case "RssAnon:":
			own = kilobytes * 1024
		case "VmRSS:":
			resident = kilobytes * 1024
		}
	}
	return own, resident
}

// eventually waits until check returns nil. On timeout it fails with the last error.
func eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(awaitTimeout)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("timeout: wait until %s: %v", what, err)
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("waiting until %s: %v", what, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// buffer stores the concurrent writes of several goroutines.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
