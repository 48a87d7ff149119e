package process_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/machine/logfile"
	"github.com/strata-platform/strata/internal/local/machine/process"
)

func TestErrorOfProgramThatEndsAtOnceCarriesTheLastLineOfItsLog(t *testing.T) {
	log := filepath.Join(t.TempDir(), "logs", "fail.log")
	p, err := process.Start(spec("fail", log))
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	want := "fail ended (exit status 3): no configuration at /nowhere"
	if err := p.ExitError(); err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	if p.ExitCode() != 3 {
		t.Errorf("exit code is %d, want 3", p.ExitCode())
	}
	if info, err := os.Stat(log); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the log is not for its owner alone: %v, %v", info, err)
	}
}

func TestErrorOfProgramThatCannotBeStartedNamesIt(t *testing.T) {
	s := spec("absent", filepath.Join(t.TempDir(), "absent.log"))
	s.Path = "/nowhere/absent"
	if _, err := process.Start(s); err == nil || !strings.Contains(err.Error(), "start absent: ") || !strings.Contains(err.Error(), "/nowhere/absent") {
		t.Errorf("error %v does not say what could not be started", err)
	}
}

func TestExitCodeOfAKilledProgramNamesTheSignal(t *testing.T) {
	log := filepath.Join(t.TempDir(), "sh.log")
	p, err := process.Start(process.Spec{Name: "sh", Path: "/bin/sh", Args: []string{"-c", "kill -SEGV $$"}, Dir: filepath.Dir(log), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if p.ExitCode() != 128+int(syscall.SIGSEGV) {
		t.Errorf("exit code is %d, want %d", p.ExitCode(), 128+int(syscall.SIGSEGV))
	}
	if p.Signal() != int(syscall.SIGSEGV) {
		t.Errorf("signal is %d, want %d", p.Signal(), int(syscall.SIGSEGV))
	}
}

func TestStopLetsAProgramEndByItself(t *testing.T) {
	log := filepath.Join(t.TempDir(), "obey.log")
	p, err := process.Start(spec("obey", log))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the program is ready", func() bool { return process.LastLine(log) == "ready" })
	p.Stop(time.Minute)
	if last := process.LastLine(log); last != "goodbye" {
		t.Errorf("the program's last word is %q, want goodbye", last)
	}
	if p.ExitError() != nil || p.ExitCode() != 0 {
		t.Errorf("a program that was stopped shows %v, exit code %d", p.ExitError(), p.ExitCode())
	}
}

func TestStopEndsAStubbornProgramAndItsChildrenAfterTheGracePeriod(t *testing.T) {
	const grace = 200 * time.Millisecond
	log := filepath.Join(t.TempDir(), "stubborn.log")
	p, err := process.Start(spec("stubborn", log))
	if err != nil {
		t.Fatal(err)
	}
	child := printedPid(t, log)
	began := time.Now()
	p.Stop(grace)
	if took := time.Since(began); took < grace {
		t.Errorf("it was ended after %s, before its grace of %s was over", took, grace)
	}
	if lives(p.Pid()) {
		t.Error("the program still runs")
	}
	eventually(t, "the child is gone", func() bool { return !lives(child) })
}

func TestChildProcessesEndWithTheirProgram(t *testing.T) {
	log := filepath.Join(t.TempDir(), "leave.log")
	p, err := process.Start(spec("leave", log))
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	child := printedPid(t, log)
	eventually(t, "the child is gone", func() bool { return !lives(child) })
}

func TestChildDiesWithAParentThatIsKilled(t *testing.T) {
	parent := role("parent", t.TempDir())
	var out lockedBuffer
	parent.Stdout, parent.Stderr = &out, &out
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	defer func() {
		if !killed {
			_ = parent.Process.Kill()
			_ = parent.Wait()
		}
	}()
	var child int
	eventually(t, "the parent names its child", func() bool {
		child = pidIn(out.String())
		return child != 0
	})
	if !lives(child) {
		t.Fatalf("the child does not run: %s", out.String())
	}
	killed = true
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	eventually(t, "the child is gone", func() bool { return !lives(child) })
}

func TestNothingOfTheEnvironmentIsInherited(t *testing.T) {
	t.Setenv("STRATA_TEST_SECRET", "hidden")
	log := filepath.Join(t.TempDir(), "env.log")
	p, err := process.Start(process.Spec{Name: "env", Path: "/usr/bin/env", Dir: filepath.Dir(log), Log: log})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if got := process.Tail(log); len(got) != 0 {
		t.Errorf("the program's environment is %q, want none", got)
	}
}

func TestALogChangesFilesWhileTheProgramRuns(t *testing.T) {
	log := filepath.Join(t.TempDir(), "babble.log")
	p, err := process.Start(spec("babble", log))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop(0)
	eventually(t, "the log was put aside twice", func() bool {
		// The program numbers its lines, so only the first rotated file begins with the first line.
		f, err := os.Open(log + ".1")
		if err != nil {
			return false
		}
		defer f.Close()
		first, err := bufio.NewReader(f).ReadString('\n')
		return err == nil && first != "babble 0\n"
	})
	if err := p.ExitError(); err != nil {
		t.Errorf("the program did not outlive the change of its log: %v", err)
	}
	// While the program writes, the log's path is without a file for moments.
	p.Stop(0)
	for _, file := range []string{log, log + ".1"} {
		if info, err := os.Stat(file); err != nil || info.Size() > logfile.MaxSize {
			t.Errorf("%s is %v (%v), want at most %d bytes", file, info, err, logfile.MaxSize)
		}
	}
}

func TestALogCanTellWhenItsLinesWereWritten(t *testing.T) {
	s := spec("fail", filepath.Join(t.TempDir(), "fail.log"))
	s.Stamps = true
	p, err := process.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if err := p.ExitError(); err == nil || err.Error() != "fail ended (exit status 3): no configuration at /nowhere" {
		t.Errorf("error is %v, want the program's own words", err)
	}
	var lines strings.Builder
	if err := logfile.Read(t.Context(), s.Log, logfile.Options{Stamps: true}, &lines); err != nil {
		t.Fatal(err)
	}
	stamp, _, _ := strings.Cut(lines.String(), " ")
	if _, err := time.Parse(time.RFC3339Nano, stamp); err != nil {
		t.Errorf("the log begins with %q: %v", stamp, err)
	}
}

func TestRunDoesNotWaitForOpenOutput(t *testing.T) {
	log := filepath.Join(t.TempDir(), "desert.log")
	p, err := process.Start(spec("desert", log))
	if err != nil {
		t.Fatal(err)
	}
	child := printedPid(t, log)
	eventually(t, "the program counts as ended", func() bool {
		select {
		case <-p.Done():
			return true
		default:
			return false
		}
	})
	if !lives(child) {
		t.Error("the child did not leave the program's group: this test shows nothing")
	}
}
