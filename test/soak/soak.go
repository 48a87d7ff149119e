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

// Rounds returns the number of rounds of a test whose rounds last as long as weight rounds of the shortest soak, which take
// a few seconds: the value of the variable divided by weight, and at least 1. So all soaks take about the same time. Rounds
// skips the test if the variable is not set.
func Rounds(t testing.TB, weight int) int {
	t.Helper()
	text := os.Getenv(RoundsVariable)
	if text == "" {
		t.Skip("a soak: run it with `make soak`")
	}
	rounds, err := strconv.Atoi(text)
	if err != nil || rounds < 1 {
		t.Fatalf("%s=%s: use a number of rounds, at least 1", RoundsVariable, text)
	}
	return max(1, rounds/weight)
}
