package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/process"
)

// sleep starts a process that is no child of a program of this package.
func sleep(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	command := role("sleeper")
	command.Env = append(command.Env, env...)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	eventually(t, "the program runs", func() bool { return process.Command(command.Process.Pid) == os.Args[0] })
	return command
}

func TestEndLeftoversEndsOnlyTheProcessesOfTheFolders(t *testing.T) {
	home := t.TempDir()
	pods := filepath.Join(home, "pods")
	mine := []*exec.Cmd{
		sleep(t, "HOME="+pods),
		sleep(t, "HOME="+filepath.Join(pods, "operator", "run-1")),
	}
	others := []*exec.Cmd{
		sleep(t, "HOME="+pods+"-of-another"),
		sleep(t, "HOME="+home),
		sleep(t, "HOME="+filepath.Join(t.TempDir(), "pods")),
		// This process stands for a shell in which a user works with the home.
		sleep(t, "STRATA_HOME="+home, "PULUMI_HOME="+filepath.Join(pods, "operator"), "PWD="+pods),
	}
	ended, err := process.EndLeftovers(t.Context(), pods, filepath.Join(home, "git"))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range mine {
		if lives(command.Process.Pid) {
			t.Errorf("%v lives", command.Env)
		}
	}
	for _, command := range others {
		if !lives(command.Process.Pid) {
			t.Errorf("%v was ended", command.Env)
		}
	}
	if len(ended) != 2 || !slices.ContainsFunc(ended, func(s string) bool { return strings.HasPrefix(s, os.Args[0]+" (pid ") }) {
		t.Errorf("it says that it ended %q", ended)
	}
	if again, err := process.EndLeftovers(t.Context(), pods); err != nil || len(again) != 0 {
		t.Errorf("a second time it ends %q (%v)", again, err)
	}
}

func TestEndLeftoversFindsProcessesInOtherGroups(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "desert.log")
	s := spec("desert", log)
	s.Env = append(s.Env, "HOME="+dir)
	p, err := process.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	child := printedPid(t, log)
	<-p.Done()
	if !lives(child) {
		t.Fatal("the child ended with its parent: this test shows nothing")
	}
	if _, err := process.EndLeftovers(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if lives(child) {
		t.Error("the child lives")
	}
}

func TestEndLeftoversEndsAStoppedProcess(t *testing.T) {
	dir := t.TempDir()
	command := sleep(t, "HOME="+dir)
	if err := command.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if _, err := process.EndLeftovers(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if lives(command.Process.Pid) {
		t.Error("the process lives")
	}
}
