package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/strata-platform/strata/test/docstest"
)

const platformTeamPage = "docs/platform-team.md"

// lastCommand is the last command of the page for platform teams. The script down.txtar runs it.
const lastCommand = "strata down --purge --yes\n"

// noHome is the home directory of a script that sets none.
const noHome = "/no-home"

// gcloudBlocks are the names of the blocks for Google Cloud. A test in cmd/strata checks them.
var gcloudBlocks = []string{"gcloud", "bootstrap", "platform"}

// platformTeam: platformteam NAME — runs the blocks ```sh NAME of docs/platform-team.md as one shell script in the current folder,
// without the last command of the page, and compares the output with each block ```text that follows one of them. The output
// becomes the standard output of the command.
func platformTeam(ts *testscript.TestScript, _ bool, args []string) {
	name := strings.Join(args, " ")
	script, last := "set -e\n", ""
	var outputs []docstest.Block
	for _, block := range platformTeamBlocks(ts) {
		switch {
		case block.Language == "sh":
			if last = block.Name; last == name {
				script += block.Text
			}
		case block.Language == "text" && block.Name == "" && last == name:
			outputs = append(outputs, block)
		}
	}
	script, deletes := strings.CutSuffix(script, lastCommand)
	if deletes != (name == "local") {
		ts.Fatalf("of the blocks of %s, the last one ```sh local, and no other, has to end with %s", platformTeamPage, lastCommand)
	}
	// The command under test is already built, and is in the PATH.
	command := inShell(ts, refusing(strings.Replace(script, "make build\n", "", 1)))
	dir, err := os.MkdirTemp(ts.Getenv("WORK"), "kubectl-")
	ts.Check(err)
	command.Dir, command.Env = ts.MkAbs("."), append(command.Env, "PATH="+withKubectl(ts, dir))
	command.Env = append(command.Env, author...)
	if home := ts.Getenv("HOME"); home != noHome {
		command.Env = append(command.Env, "HOME="+home)
	}
	printed, err := command.CombinedOutput()
	_, writeErr := ts.Stdout().Write(printed)
	ts.Check(errors.Join(err, writeErr))
	compareShown(ts, platformTeamPage, outputs, printed)
}

// tryShows: eventually DURATION shows NAME COMMAND ARGS... — the output of a command contains each line of the block ```text NAME
// of docs/platform-team.md, with any exit code.
func tryShows(ts *testscript.TestScript, args []string) error {
	for _, block := range platformTeamBlocks(ts) {
		if block.Language != "text" || block.Name != args[0] {
			continue
		}
		for line := range strings.Lines(block.Text) {
			if err := trySays(ts, append([]string{shown(line).String()}, args[1:]...)); err != nil {
				return err
			}
		}
		return nil
	}
	ts.Fatalf("%s has no block ```text %s", platformTeamPage, args[0])
	return nil
}

// platformTeamBlocks returns the blocks of the page.
func platformTeamBlocks(ts *testscript.TestScript) []docstest.Block {
	blocks, err := docstest.Parse(ts.ReadFile(filepath.Join(root, platformTeamPage)))
	ts.Check(err)
	return blocks
}

// TestAScriptRunsEveryBlockOfThePlatformTeamPage looks in the scripts for the command that runs, or compares, each block.
func TestAScriptRunsEveryBlockOfThePlatformTeamPage(t *testing.T) {
	scripts := ""
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		scripts += string(content)
	}
	previous := docstest.Block{}
	for _, block := range docstest.Blocks(t, platformTeamPage) {
		need := ""
		switch {
		case block.Language == "sh" && !slices.Contains(gcloudBlocks, block.Name):
			need = "\nplatformteam " + block.Name + "\n"
		case block.Language == "text" && block.Name != "":
			need = " shows '" + block.Name + "' "
		case block.Language == "text" && (previous.Language != "sh" || slices.Contains(gcloudBlocks, previous.Name)):
			t.Errorf("%s:%d: no command that a script runs precedes this output", platformTeamPage, block.Line)
		}
		if !strings.Contains(scripts, need) {
			t.Errorf("%s:%d: no script contains %q", platformTeamPage, block.Line, strings.TrimSpace(need))
		}
		previous = block
	}
}
