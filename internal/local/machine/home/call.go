package home

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/strata-platform/strata/internal/shell"
)

// Variable is the environment variable that names the home's folder. Without it, the home is .strata in Strata's
// repository.
const Variable = "STRATA_HOME"

// program is the name of strata's executable.
const program = "strata"

// Call returns a call of strata for this home, for display. Pasted into a shell without STRATA_HOME, it reaches this
// home and no other.
func (h Home) Call(words string) string { return Call(h.dir, words) }

// Call is like Home.Call for the home in dir, an absolute path.
func Call(dir, words string) string {
	call := shell.Word(called()) + " " + words
	if os.Getenv(Variable) == "" {
		return call
	}
	return Variable + "=" + shell.Quote(dir) + " " + call
}

// called returns the command that called strata: the name if a shell finds strata by it, and otherwise the path.
func called() string {
	path := os.Args[0]
	if filepath.Base(path) != program {
		return program
	}
	if filepath.IsAbs(path) && isCalled(path) {
		return program
	}
	return path
}

// isCalled reports whether a shell finds the executable at path by strata's name.
func isCalled(path string) bool {
	found, err := exec.LookPath(program)
	if err != nil {
		return false
	}
	is, err := os.Stat(found)
	if err != nil {
		return false
	}
	this, err := os.Stat(path)
	return err == nil && os.SameFile(is, this)
}
