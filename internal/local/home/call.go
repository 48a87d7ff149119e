package home

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/strata-platform/strata/internal/shell"
)

// Variable names the home's folder to strata; without it the home is .strata in Strata's repository.
const Variable = "STRATA_HOME"

// program is the name of strata's executable.
const program = "strata"

// Call is a call of strata for this home, to be printed: pasted into a shell that does not have STRATA_HOME it reaches this
// home, too, and no other.
func (h Home) Call(words string) string { return Call(h.dir, words) }

// Call is Home.Call for the home in a folder, whose path is absolute.
func Call(dir, words string) string {
	call := shell.Word(called()) + " " + words
	if os.Getenv(Variable) == "" {
		return call
	}
	return Variable + "=" + shell.Quote(dir) + " " + call
}

// called is how strata was called: by its name where the shell finds it so, otherwise by its path.
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

// isCalled tells whether a shell would find an executable by strata's name.
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
