// Package soak is the frame of tests that go on for long: `make soak` runs them, and nothing else does.
//
// A soak is a test called TestSoak..., in a file named *soak_test.go of whichever package. It does its work in rounds.
package soak

import (
	"os"
	"strconv"
	"testing"
)

// RoundsVariable says how many rounds every soak runs.
const RoundsVariable = "STRATA_SOAK_ROUNDS"

// Rounds returns how many rounds to run. Where none are asked for it skips the test.
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
