package process_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/strata-platform/strata/internal/local/machine/process"
	"github.com/strata-platform/strata/operator/sandbox/sandboxtest"
)

// roleVariable selects one of the programs below, which the test binary then runs instead of tests.
const roleVariable = "PROCESS_TEST_ROLE"

// roles are the programs that the tests start.
var roles = map[string]func(args []string){
	// fail exits at once with a message.
	"fail": func([]string) {
		fmt.Fprintln(os.Stderr, "reading the configuration")
		fmt.Fprintln(os.Stderr, "no configuration at /nowhere")
		os.Exit(3)
	},
	// obey waits for SIGTERM and exits with status 0.
	"obey": func([]string) {
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		fmt.Println("ready")
		<-asked
		fmt.Println("goodbye")
	},
	// stubborn ignores SIGTERM, and so does its child, whose PID it prints.
	"stubborn": func([]string) {
		signal.Ignore(syscall.SIGTERM)
		child := role("sleeper")
		child.Stdout = os.Stdout
		must(child.Start())
		fmt.Println("child", child.Process.Pid)
		forever()
	},
	// leave starts a child and exits before it.
	"leave": func([]string) {
		child := role("sleeper")
		must(child.Start())
		fmt.Println("child", child.Process.Pid)
	},
	// desert starts a child in a process group of its own, which holds the output open, and exits before it.
	"desert": func([]string) {
		child := role("sleeper")
		child.Stdout = os.Stdout
		child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		must(child.Start())
		fmt.Println("child", child.Process.Pid)
	},
	// babble prints numbered lines forever.
	"babble": func([]string) {
		for i := 0; ; i++ {
			fmt.Println("babble", i)
		}
	},
	"sleeper": func([]string) {
		signal.Ignore(syscall.SIGTERM)
		forever()
	},
	// parent starts a program, as the supervisor does, and prints its PID.
	"parent": func(args []string) {
		p, err := process.Start(spec("sleeper", filepath.Join(args[0], "sleeper.log")))
		must(err)
		fmt.Println("child", p.Pid())
		forever()
	},
}

func TestMain(m *testing.M) {
	if play, ok := roles[os.Getenv(roleVariable)]; ok {
		play(os.Args[1:])
		return
	}
	sandboxtest.Enter()
	os.Exit(m.Run())
}

// forever waits for a signal that nobody sends.
func forever() {
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR1)
	<-never
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func role(name string, args ...string) *exec.Cmd {
	command := exec.Command(os.Args[0], args...)
	command.Env = append(os.Environ(), roleVariable+"="+name)
	return command
}

func spec(name, log string) process.Spec {
	return process.Spec{Name: name, Path: os.Args[0], Env: []string{roleVariable + "=" + name}, Dir: filepath.Dir(log), Log: log}
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		return condition(), nil
	})
	if err != nil {
		t.Fatalf("timeout: waited until %s: %v", what, err)
	}
}

// lives reports whether a process exists and is no zombie.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	// The state follows the name in parentheses (proc(5)).
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

// printedPid waits for the line "child PID" in a log.
func printedPid(t *testing.T, log string) int {
	t.Helper()
	var pid int
	eventually(t, "a child is named in "+log, func() bool {
		pid = pidIn(string(process.Tail(log)))
		return pid != 0
	})
	t.Cleanup(func() {
		if lives(pid) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return pid
}

func pidIn(text string) int {
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if number, ok := strings.CutPrefix(lines.Text(), "child "); ok {
			pid, _ := strconv.Atoi(number)
			return pid
		}
	}
	return 0
}
