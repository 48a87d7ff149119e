package checkcmd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/checkcmd"
	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/internal/check"
	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/operator/sandbox/sandboxtest"
	"github.com/strata-platform/strata/test/docstest"
)

func TestMain(m *testing.M) {
	trial.Main()
	sandboxtest.Main(m)
}

var errUsage = errors.New("usage")

// call runs the command without a toolchain and without a platform's repository.
func call(t *testing.T, build func(cli.Options) *cobra.Command, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	command := build(cli.Options{
		Out: &out, Err: &out,
		Arguments: func(check cobra.PositionalArgs) cobra.PositionalArgs { return check },
		Usage:     func(err error) error { return errors.Join(errUsage, err) },
		Root:      func() (string, error) { return "", errors.New("no repository") },
		Toolchain: func() (*toolchain.Toolchain, error) { return nil, errors.New("no toolchain") },
	})
	command.SetArgs(args)
	command.SetOut(&out)
	command.SetErr(&out)
	command.SilenceErrors, command.SilenceUsage = true, true
	err := command.ExecuteContext(t.Context())
	return out.String(), err
}

func repository(t *testing.T, kind string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"kustomization.yaml": "resources: [app.yaml]\n",
		"app.yaml":           "apiVersion: v1\nkind: " + kind + "\nmetadata: {name: a}\n",
		"teams.json":         `{"apiVersion": "strata/v1", "kind": "Teams", "teams": [{"name": "web"}, {"name": "shop"}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestACallHasTheResultThatItsExitCodeNeeds(t *testing.T) {
	good, bad := repository(t, "ConfigMap"), repository(t, "Pod")
	list := filepath.Join(good, "teams.json")
	for name, tc := range map[string]struct {
		args        []string
		fail, usage bool
		says        string
	}{
		"no findings":    {args: []string{good, "--teams", list, "--team", "web"}, says: "no findings for team web in 1 objects"},
		"without a team": {args: []string{good}, says: "no team is known here"},
		"findings":       {args: []string{bad, "--teams", list, "--team", "web"}, fail: true, says: "app.yaml:2:1: Pod team-web/a is refused: the account team-web/web may not patch pods [forbidden]"},
		"findings of GitHub": {args: []string{bad, "--teams", list, "--team", "shop", "-o", "github"}, fail: true,
			says: "::error file=app.yaml,line=2,col=1,title=strata check%3A forbidden::Pod team-shop/a is refused"},
		"a rule left out":   {args: []string{bad, "--teams", list, "--team", "web", "--skip", "forbidden"}, says: "no findings"},
		"two teams":         {args: []string{good, "--teams", list}, fail: true, usage: true},
		"an unknown team":   {args: []string{good, "--teams", list, "--team", "hr"}, fail: true, usage: true},
		"no list of teams":  {args: []string{good, "--team", "web"}, fail: true, usage: true},
		"an unknown format": {args: []string{good, "-o", "xml"}, fail: true, usage: true},
		"an unknown rule":   {args: []string{good, "--skip", "nothing"}, fail: true, usage: true},
		"no folder":         {args: []string{list}, fail: true, usage: true},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := call(t, checkcmd.New, tc.args...)
			if (err != nil) != tc.fail || errors.Is(err, errUsage) != tc.usage || !strings.Contains(out, tc.says) {
				t.Errorf("error %v, output:\n%s", err, out)
			}
		})
	}
}

func TestTheSchemaContainsTheTypesOfTheTeam(t *testing.T) {
	list := filepath.Join(repository(t, "ConfigMap"), "teams.json")
	out, err := call(t, checkcmd.Schema, "--teams", list, "--team", "web", "--schemas", t.TempDir())
	if err != nil || !strings.Contains(out, "gcp:sql:Database") || strings.Contains(out, "gcp:compute") {
		t.Errorf("error %v, output %.300s", err, out)
	}
	if _, err := call(t, checkcmd.Schema, "--teams", list); !errors.Is(err, errUsage) {
		t.Errorf("error %v, want one of usage", err)
	}
}

// TestAWrittenSchemaIsOutOfDateWhenThePlatformChanges writes the files of a team into a clone, checks the clone, changes the
// list, and writes them again.
func TestAWrittenSchemaIsOutOfDateWhenThePlatformChanges(t *testing.T) {
	clone, list := repository(t, "ConfigMap"), filepath.Join(repository(t, "ConfigMap"), "teams.json")
	packages := t.TempDir()
	put := func(name, content string) {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(filepath.Join(packages, "random-1.0.0.json"), `{"name": "random", "resources": {"random:index/randomPet:RandomPet": {}}}`)
	write := []string{"--teams", list, "--team", "web", "--schemas", packages, "--write", clone}
	checked := []string{clone, "--teams", list, "--team", "web", "--schemas", packages}
	expect := func(state string, build func(cli.Options) *cobra.Command, args []string, says string) {
		t.Helper()
		if out, err := call(t, build, args...); err != nil || !strings.Contains(out, says) || says == "no findings" && strings.Contains(out, "strata schema") {
			t.Errorf("%s: error %v, output:\n%s", state, err, out)
		}
	}
	expect("before", checkcmd.New, checked, "no findings")
	expect("new files", checkcmd.Schema, write, filepath.Join(clone, ".strata-team", "schema.json"))
	expect("after", checkcmd.New, checked, "no findings")
	expect("with the files only", checkcmd.New, []string{clone}, "no findings for team web")
	put(list, `{"apiVersion": "strata/v1", "kind": "Teams", "teams": [{"name": "web", "allow": ["random:*"]}]}`)
	expect("another list", checkcmd.New, checked, "run `strata schema --team web --teams "+list+" --write "+clone+"`")
	expect("the files again", checkcmd.Schema, write, "teams.json")
	expect("in the end", checkcmd.New, checked, "no findings")
}

func TestTheReferenceShowsTheFieldsOfTheReport(t *testing.T) {
	page := "docs/reference/check.md"
	for _, block := range docstest.Blocks(t, page) {
		if block.Name != "check" {
			continue
		}
		decoder := json.NewDecoder(strings.NewReader(block.Text))
		decoder.DisallowUnknownFields()
		var result check.Report
		if err := decoder.Decode(&result); err != nil {
			t.Errorf("%s: %v", page, err)
		}
		for rule := range check.Rules {
			if !strings.Contains(docstest.Read(t, page), "| `"+rule+"` |") {
				t.Errorf("%s has no rule %s", page, rule)
			}
		}
		return
	}
	t.Errorf("%s has no example", page)
}
