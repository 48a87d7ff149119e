package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/cmd/strata/internal/cataloguecmd"
	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/clonecmd"
	"github.com/strata-platform/strata/cmd/strata/internal/kubeconfigcmd"
	"github.com/strata-platform/strata/cmd/strata/internal/ledgercmd"
	"github.com/strata-platform/strata/cmd/strata/internal/render"
	"github.com/strata-platform/strata/internal/backup/content"
	"github.com/strata-platform/strata/internal/ledger/query"
	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/local/rotation"
	"github.com/strata-platform/strata/internal/publish"
	"github.com/strata-platform/strata/internal/rehearsal"
	"github.com/strata-platform/strata/test/docstest"
)

// withoutOutput are the commands without -o, and the reasons.
var withoutOutput = map[string]string{
	"strata order":      "it prints YAML to commit",
	"strata local stop": "it prints no data",
	"strata logs":       "it prints the lines of a log",
	"strata completion": "it prints a script",
	"strata schema":     "it prints a JSON Schema",
}

func TestEveryCommandThatPrintsDataHasTheFlagOutput(t *testing.T) {
	pages := docstest.Read(t, "docs/reference/output.md") + docstest.Read(t, "docs/reference/status.md") + docstest.Read(t, "docs/reference/check.md")
	var headings []string
	for line := range strings.SplitSeq(pages, "\n") {
		if strings.HasPrefix(line, "#") {
			headings = append(headings, line)
		}
	}
	began := false
	for _, command := range visible(newRoot(streams{in: strings.NewReader(""), out: &bytes.Buffer{}, err: &bytes.Buffer{}}, &began)) {
		path := command.CommandPath()
		if command.HasSubCommands() || path == "strata help" {
			continue
		}
		flag := command.Flags().Lookup(cli.OutputFlag)
		if flag == nil {
			if withoutOutput[path] == "" {
				t.Errorf("%s has no flag -o: bind a cli.Output, or name the reason in withoutOutput", path)
			}
			continue
		}
		for _, format := range cli.Formats {
			if err := flag.Value.Set(format); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
		// The heading of a group documents its commands, and "`strata team add` and `strata team remove`" two.
		named := func(heading string) bool {
			return strings.Contains(heading, "`"+path+"`") || strings.Contains(heading, "`"+command.Parent().CommandPath()+"`") ||
				strings.Contains(heading, "`"+command.Parent().CommandPath()+" ") && strings.Contains(heading, "`"+command.Name()+"`")
		}
		if !slices.ContainsFunc(headings, named) {
			t.Errorf("docs/reference/output.md has no section about `%s`", path)
		}
	}
}

func TestYAMLAndJSONHaveTheSameFields(t *testing.T) {
	_, h := newClone(t)
	for _, args := range [][]string{{"doctor"}, {"status"}, {"team", "list"}, {"toolchain", "list"}, {"down", "--dry-run"}, {"image", "list"}} {
		if args[0] == "image" {
			opened(t, h)
		}
		_, asJSON, _ := call(t, append(args, "-o", "json")...)
		_, asYAML, stderr := call(t, append(args, "-o", "yaml")...)
		var want, got any
		if err := json.Unmarshal([]byte(asJSON), &want); err != nil {
			t.Errorf("%s: %v: %s %s", args, err, asJSON, stderr)
		}
		if err := yaml.Unmarshal([]byte(asYAML), &got); err != nil || strings.HasPrefix(asYAML, "{") {
			t.Errorf("%s: %v: %s", args, err, asYAML)
		}
		// Free memory and free space change between the calls.
		if args[0] != "doctor" && !reflect.DeepEqual(want, got) {
			t.Errorf("%s: JSON\n%s\nYAML\n%s", args, asJSON, asYAML)
		}
	}
}

func TestDocumentedPlan(t *testing.T) {
	docstest.CheckJSON[render.Plan](t, "docs/reference/output.md", "plan")
	docstest.CheckJSON[[]cataloguecmd.Listed](t, "docs/reference/output.md", "catalogue")
	docstest.CheckJSON[publish.Result](t, "docs/reference/output.md", "publish")
	docstest.CheckJSON[query.Answer](t, "docs/reference/output.md", "why")
	docstest.CheckJSON[ledgercmd.History](t, "docs/reference/output.md", "history")
	docstest.CheckJSON[ledgercmd.Verification](t, "docs/reference/output.md", "verify")
	docstest.CheckJSON[rotation.Result](t, "docs/reference/output.md", "rotate")
	docstest.CheckJSON[content.Saved](t, "docs/reference/output.md", "backup")
	docstest.CheckJSON[local.Restored](t, "docs/reference/output.md", "restore")
	docstest.CheckJSON[rehearsal.Result](t, "docs/reference/output.md", "rehearse")
	docstest.CheckJSON[clonecmd.Result](t, "docs/reference/output.md", "clone")
	docstest.CheckJSON[kubeconfigcmd.Result](t, "docs/reference/output.md", "kubeconfig")
}

func TestEveryCommandThatWaitsHasATimeout(t *testing.T) {
	began := false
	root := newRoot(streams{in: strings.NewReader(""), out: &bytes.Buffer{}, err: &bytes.Buffer{}}, &began)
	for _, path := range []string{"up", "down", "layer up", "layer preview", "layer destroy", "local start", "local stop", "toolchain build"} {
		command, _, err := root.Find(strings.Fields(path))
		if err != nil || command.Flags().Lookup("timeout") == nil || command.Flags().Lookup("verbose") == nil {
			t.Errorf("strata %s has no --timeout or no --verbose (%v)", path, err)
		}
	}
}
