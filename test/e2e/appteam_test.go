package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	operatorv1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/docstest"
)

const appTeamPage = "docs/app-team.md"

// TestEveryBlockOfTheAppTeamPageIsValid decodes each block of the page, or finds its lines in the example that it names.
func TestEveryBlockOfTheAppTeamPageIsValid(t *testing.T) {
	for _, block := range docstest.Blocks(t, appTeamPage) {
		var err error
		kind, name, _ := strings.Cut(block.Name, " ")
		switch {
		case block.Language == "sh" && (kind == "team" || kind == "local"), block.Language == "text":
			// The script app-team.txtar runs the commands and compares their output.
		case block.Language == "sh" && kind == "signed":
			// test/publish runs the commands: the team of the script needs no signatures.
		case block.Language == "yaml" && strings.HasPrefix(kind, "examples/"):
			if !strings.Contains(docstest.Read(t, kind), block.Text) {
				err = fmt.Errorf("%s does not contain these lines", kind)
			}
		case block.Language == "yaml" && kind == "insert" && name == "resources":
			err = yaml.UnmarshalStrict([]byte(block.Text), &map[string]operatorv1.Resource{})
		case block.Language == "yaml" && kind == "insert" && name == "outputs":
			err = yaml.UnmarshalStrict([]byte(block.Text), &map[string]string{})
		default:
			err = fmt.Errorf("this test does not check a block of %q %q", block.Language, block.Name)
		}
		if err != nil {
			t.Errorf("%s:%d: %v", appTeamPage, block.Line, err)
		}
	}
}

// shell returns the page as one shell script: its commands, and its changes of files of the repository.
func shell(t *testing.T, dir string) string {
	t.Helper()
	script := "set -e\n"
	for i, block := range docstest.Blocks(t, appTeamPage) {
		kind, name, _ := strings.Cut(block.Name, " ")
		file := filepath.Join(dir, fmt.Sprint("block-", i))
		if err := os.WriteFile(file, []byte(block.Text), 0o600); err != nil {
			t.Fatal(err)
		}
		switch {
		case block.Language == "sh" && kind != "signed":
			script += fmt.Sprintf("echo '%s:%d' >&2\n%s", appTeamPage, block.Line, block.Text)
		case kind == "insert":
			script += fmt.Sprintf("sed -i '/^  %s:$/r %s' app-infra.yaml\n", name, file)
		}
	}
	return refusing(script)
}

// refusing returns a script in which a command after ! ends the script unless it fails.
func refusing(script string) string {
	return regexp.MustCompile(`(?m)^( *)! (.*)$`).ReplaceAllString(script, "${1}if $2; then echo 'no failure: $2' >&2; exit 1; fi")
}

// appTeam: appteam UP — runs the page for app teams, and with it every example, in the repository of team web. UP is a
// file with the output of strata up.
func appTeam(t *testing.T) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, _ bool, args []string) {
		up := ts.ReadFile(args[0])
		clone := regexp.MustCompile(`git clone --config credential.helper='(.*)' (\S+)`).FindStringSubmatch(up)
		if clone == nil {
			ts.Fatalf("the output of strata up contains no command that clones the team's repository:\n%s", up)
		}
		dir := t.TempDir()
		command := inShell(ts, strings.Replace(shell(t, dir), "git clone", "cd \"$TMPDIR\"\ngit clone", 1))
		command.Env = append(command.Env,
			"REPOSITORY="+clone[2], "EXAMPLES="+filepath.Join(root, "examples"), "TMPDIR="+t.TempDir(), "PATH="+withKubectl(ts, dir),
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=credential.helper", "GIT_CONFIG_VALUE_0="+clone[1],
		)
		command.Env = append(command.Env, author...)
		printed, err := command.CombinedOutput()
		ts.Logf("%s", printed)
		ts.Check(err)
		var outputs []docstest.Block
		for _, block := range docstest.Blocks(t, appTeamPage) {
			if block.Language == "text" {
				outputs = append(outputs, block)
			}
		}
		compareShown(ts, appTeamPage, outputs, printed)
	}
}

// compareShown fails the script unless the output contains each line of the blocks of a page.
func compareShown(ts *testscript.TestScript, page string, blocks []docstest.Block, printed []byte) {
	for _, block := range blocks {
		for line := range strings.Lines(block.Text) {
			if !shown(line).Match(printed) {
				ts.Fatalf("%s:%d: no command has printed this: %s", page, block.Line, line)
			}
		}
	}
}

// author contains the variables with the name of the author of commits.
var author = []string{"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com"}

// withKubectl puts a kubectl into a folder, and returns a search path that begins with the folder.
func withKubectl(ts *testscript.TestScript, dir string) string {
	self, err := os.Executable()
	ts.Check(err)
	ts.Check(os.Symlink(self, filepath.Join(dir, "kubectl")))
	return dir + string(os.PathListSeparator) + ts.Getenv("PATH")
}

// inShell returns a shell that runs a script in the folder $ROOT, with the variables of a testscript.
func inShell(ts *testscript.TestScript, script string) *exec.Cmd {
	command := exec.Command("sh", "-c", script)
	command.Dir, command.Env = ts.Getenv("ROOT"), os.Environ()
	for _, name := range []string{"STRATA_HOME", "PATH", "TMPDIR", "GIT_CONFIG_GLOBAL", "GIT_TERMINAL_PROMPT", "XDG_CACHE_HOME"} {
		command.Env = append(command.Env, name+"="+ts.Getenv(name))
	}
	return command
}

// shown returns an expression for a line of the page: "…" matches any text, and a space any number of spaces.
func shown(line string) *regexp.Regexp {
	var words []string
	for word := range strings.FieldsSeq(line) {
		words = append(words, strings.ReplaceAll(regexp.QuoteMeta(word), "…", ".*"))
	}
	return regexp.MustCompile(strings.Join(words, `[ \t]+`))
}
