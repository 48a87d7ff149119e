// Package soak supports long-running tests, which only `make soak` runs.
//
// A soak is a test called TestSoak..., in a file named *soak_test.go of any package. It works in rounds.
package soak

import (
	"os"
	"strconv"
	"testing"
)

// RoundsVariable is the environment variable with the number of rounds of every soak.
const RoundsVariable = "STRATA_SOAK_ROUNDS"

// Rounds returns the number of rounds. It skips the test if the variable is not set.
func Rounds(t testing.TB) int {
	t.Helper()
	text := os.Getenv(RoundsVariable)
	if text == "" {
		t.Skip("a soak: run it with `make soak`")
	}
	rounds, err := strconv.Atoi(text)
	if err != nil || rounds < 1 {
		t.Fatalf("%s=%s: it is a number of rounds, from 1", RoundsVariable, text)
	}
	return rounds
}
