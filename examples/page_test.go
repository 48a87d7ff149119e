package examples_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	operatorv1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/docstest"
	"github.com/strata-platform/strata/test/stratatest"
)

const appTeamPage = "docs/app-team.md"

// TestEveryBlockOfTheAppTeamPageIsRight decodes what the page shows, or finds it in the example that it names.
func TestEveryBlockOfTheAppTeamPageIsRight(t *testing.T) {
	for _, block := range docstest.Blocks(t, appTeamPage) {
		var err error
		kind, name, _ := strings.Cut(block.Name, " ")
		switch {
		case block.Language == "sh" && (kind == "team" || kind == "local"), block.Language == "text":
			// TestTheAppTeamPage runs the commands and compares with what they print.
		case block.Language == "yaml" && strings.HasPrefix(kind, "examples/"):
			if !strings.Contains(docstest.Read(t, kind), block.Text) {
				err = fmt.Errorf("%s holds no such lines", kind)
			}
		case block.Language == "yaml" && kind == "insert" && name == "resources":
			err = yaml.UnmarshalStrict([]byte(block.Text), &map[string]operatorv1.Resource{})
		case block.Language == "yaml" && kind == "insert" && name == "outputs":
			err = yaml.UnmarshalStrict([]byte(block.Text), &map[string]string{})
		default:
			err = fmt.Errorf("nobody checks a block of %q %q", block.Language, block.Name)
		}
		if err != nil {
			t.Errorf("%s:%d: %v", appTeamPage, block.Line, err)
		}
	}
}

// shell is the page as one script of a shell: its commands, and what it says of files of the repository.
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
		case block.Language == "sh":
			script += fmt.Sprintf("echo '%s:%d' >&2\n%s", appTeamPage, block.Line, block.Text)
		case kind == "insert":
			script += fmt.Sprintf("sed -i '/^  %s:$/r %s' app-infra.yaml\n", name, file)
		}
	}
	// A command that must fail ends the script where it does not.
	return regexp.MustCompile(`(?m)^( *)! (.*)$`).ReplaceAllString(script, "${1}if $2; then echo 'not refused: $2' >&2; exit 1; fi")
}

// TestTheAppTeamPage runs what the page says on a platform, and with it every example.
func TestTheAppTeamPage(t *testing.T) {
	p := stratatest.NewWithTools(t)
	up := p.Run("up")
	clone := regexp.MustCompile(`git clone --config credential.helper='(.*)' (\S+)`).FindSubmatch(up)
	if clone == nil {
		t.Fatalf("strata up says not how to clone the team's repository:\n%s", up)
	}
	bin, dir := filepath.Dir(stratatest.Executable(t)), t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "kubectl"))
	}
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "sh", "-c", strings.Replace(shell(t, dir), "git clone", "cd \"$TMPDIR\"\ngit clone", 1))
	command.Dir = ".."
	command.Env = append(os.Environ(),
		"STRATA_HOME="+p.Home, "REPOSITORY="+string(clone[2]), "TMPDIR="+t.TempDir(),
		"PATH="+dir+string(os.PathListSeparator)+bin+string(os.PathListSeparator)+os.Getenv("PATH"),
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_TERMINAL_PROMPT=0",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=credential.helper", "GIT_CONFIG_VALUE_0="+string(clone[1]),
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	)
	var printed bytes.Buffer
	command.Stdout = &printed
	command.Stderr = io.MultiWriter(&printed, t.Output())
	if err := command.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, printed.Bytes(), p.Run("status"))
	}
	for _, block := range docstest.Blocks(t, appTeamPage) {
		if block.Language != "text" {
			continue
		}
		for line := range strings.Lines(block.Text) {
			if !shown(line).Match(printed.Bytes()) {
				t.Errorf("%s:%d: nothing printed this: %s\n%s", appTeamPage, block.Line, line, printed.Bytes())
			}
		}
	}
}

// shown matches what a line of the page stands for: "…" is anything, and a space any number of them.
func shown(line string) *regexp.Regexp {
	var words []string
	for word := range strings.FieldsSeq(line) {
		words = append(words, strings.ReplaceAll(regexp.QuoteMeta(word), "…", ".*"))
	}
	return regexp.MustCompile(strings.Join(words, `[ \t]+`))
}
