package logfile_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/logfile"
)

// logVariable is the environment variable with the path of a log. If it is set, the test binary writes that log as its
// own output instead of running tests.
const logVariable = "LOGFILE_TEST_LOG"

func TestMain(m *testing.M) {
	path := os.Getenv(logVariable)
	if path == "" {
		os.Exit(m.Run())
	}
	fmt.Fprint(os.Stderr, "begin\n", strings.Repeat("x", logfile.MaxSize/2), "\n")
	fmt.Println(logfile.ReplaceStderr(path), "when there is room")
	fmt.Fprint(os.Stderr, strings.Repeat("x", logfile.MaxSize/2), "\n")
	fmt.Println(logfile.ReplaceStderr(path), "when it is full")
	panic("the last word")
}

func TestAProcessPutsItsOwnLogAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "own.log")
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	command := exec.Command(os.Args[0])
	command.Env = []string{logVariable + "=" + path}
	command.Stdout, command.Stderr = log, log
	if err := command.Run(); err == nil {
		t.Fatal("the program did not panic")
	}
	before, err := os.ReadFile(path + ".1")
	if err != nil || !strings.HasPrefix(string(before), "begin\n") || !strings.Contains(string(before), "<nil> when there is room") {
		t.Errorf("the file that was put aside begins %.20q (%v), want the first line", before, err)
	}
	now, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(now), "<nil> when it is full\npanic: the last word\n") {
		t.Errorf("the new file begins %.80q (%v), want what was said since", now, err)
	}
}

func TestAProcessKeepsTheLogsOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "others.log")
	if err := os.WriteFile(path, make([]byte, logfile.MaxSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := logfile.ReplaceStderr(path); err != nil {
		t.Fatal(err)
	}
	if n := size(t, path); n != logfile.MaxSize+1 {
		t.Errorf("the log has %d bytes now", n)
	}
}
