package main

import (
	"os"
	"os/exec"
	"testing"
)

// mainVariable makes this test program a call of strata.
const mainVariable = "STRATA_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// callOf returns a call of strata as a process of its own, with variables in addition to this process's environment.
func callOf(t *testing.T, environment []string, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], args...)
	command.Env = append(append(os.Environ(), mainVariable+"=1"), environment...)
	return command
}
