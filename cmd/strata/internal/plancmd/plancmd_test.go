package plancmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/plancmd"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/plans/planstest"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/operator/sandbox/sandboxtest"
	"github.com/strata-platform/strata/test/docstest"
	"github.com/strata-platform/strata/test/long"
)

func TestMain(m *testing.M) {
	trial.Main()
	sandboxtest.Main(m)
}

func TestDocumentedPlan(t *testing.T) {
	docstest.CheckJSON[plancmd.Result](t, "docs/reference/output.md", "commit-plan")
}

// engineer is a call that opens the platform of a cluster.
type engineer struct {
	cli.Output
	config *rest.Config
}

func (e *engineer) Open(error) (*local.Platform, error)    { return nil, errNone }
func (e *engineer) Platform() (*lifecycle.Platform, error) { return nil, errNone }

var errNone = errors.New("no platform")

func (e *engineer) Namespaces(_ context.Context, team string) (*rest.Config, []string, error) {
	switch {
	case e.config == nil:
		return nil, nil, errNone
	case team == "":
		return e.config, []string{"team-shop", "team-web"}, nil
	}
	return e.config, []string{"team-" + team}, nil
}

// call runs the command. config is that of the platform's engineer, nil without a platform.
func call(t *testing.T, config *rest.Config, args ...string) (out, said string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := plancmd.New(cli.Options{
		Out: &stdout, Err: &stderr,
		Arguments: func(check cobra.PositionalArgs) cobra.PositionalArgs { return check },
		Usage:     func(err error) error { return err },
		Local:     func() (*local.Platform, error) { return nil, errNone },
		Bind: func(command *cobra.Command, formats ...string) cli.Call {
			e := &engineer{config: config}
			e.Bind(command, formats...)
			return e
		},
	})
	command.SetArgs(args)
	command.SilenceErrors, command.SilenceUsage = true, true
	err := command.ExecuteContext(t.Context())
	exit := (*cli.Exit)(nil)
	switch {
	case errors.As(err, &exit):
		code = exit.Code
	case err != nil:
		code = 1
	}
	if err != nil {
		stderr.WriteString(err.Error())
	}
	return stdout.String(), stderr.String(), code
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	command := exec.Command("git", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v: %s", args[0], err, out)
	}
	return strings.TrimSpace(string(out))
}

// repository returns a clone of team web with a Stack.
func repository(t *testing.T, stack string) string {
	t.Helper()
	dir := t.TempDir()
	git(t, dir, "init", "--quiet", "--initial-branch=feature")
	for name, content := range map[string]string{
		"a.yaml":                  "apiVersion: pulumi.com/v1\nkind: Stack\nmetadata: {name: " + stack + "}\nspec: {programRef: {name: a}}\n",
		".strata-team/teams.json": `{"apiVersion": "strata/v1", "kind": "Teams", "teams": [{"name": "web"}]}`,
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "--message=x")
	return dir
}

// operate plans a Stack "bad" without success, and others with a loss of data.
func operate(p *plan.Plan) []plan.Status {
	if strings.Contains(p.Spec.Manifests, "name: bad") {
		return []plan.Status{{Phase: plan.Failed, Stacks: []plan.Stack{{Name: "bad", Failed: true, Message: "no | \x1b[2J program"}}}}
	}
	return []plan.Status{{Phase: plan.Running}, {Phase: plan.Ready, Digest: "sha256:" + strings.Repeat("0", 64), Stacks: []plan.Stack{{
		Name: "good", Approval: "data", Changes: map[string]int{"delete": 1, "same": 2}, Steps: []plan.Step{{Op: "delete", Name: "db", Type: "gcp:sql/database:Database", LosesData: true}},
	}}}}
}

func TestACommitIsPlannedByATeamAndByTheEngineer(t *testing.T) {
	long.Test(t)
	cluster := planstest.Start(t)
	cluster.Sync(t, "web", "./")
	cluster.Operate(t, operate)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, cluster.Kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	good, bad := repository(t, "good"), repository(t, "bad")
	name := "feature-" + git(t, good, "rev-parse", "HEAD")[:10]
	failed := "feature-" + git(t, bad, "rev-parse", "HEAD")[:10]
	if err := os.WriteFile(filepath.Join(good, "new.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	loss := "DATA LOSS: Stack good deletes db (gcp:sql/database:Database)\nThe operator waits for an approval before it does this: strata approve " + name + " --team web\n\n" +
		"Stack good: 1 delete, 2 unchanged\n"
	for _, tc := range []struct {
		does     string
		engineer bool
		args     []string
		code     int
		out, err string
	}{
		{"the team plans HEAD", false, []string{"--folder", good}, 0, "Plan " + name + ": commit " + name[8:] + " of branch feature\n" + loss, "not committed, and so not in the plan: 1 files"},
		{"the engineer plans a branch", true, []string{"feature", "--folder", good}, 0, loss, "plan team-web/" + name},
		{"the engineer names the team", true, []string{"--team", "web", "--folder", good, "-o", "markdown"}, 0, "> - Stack `good` **deletes** `db` (`gcp:sql/database:Database`)", ""},
		{"a Stack cannot be planned", false, []string{"--folder", bad, "-o", "markdown"}, 3, "Cannot be planned: `no \\x7c \\x1b[2J program`", "not all Stacks can be planned"},
		{"the list names both", false, []string{"list", "--folder", good}, 0, "1 delete, loses data", ""},
		{"the list says which Plan needs an approval", false, []string{"list", "--folder", good}, 0, "loses data  needed\n", ""},
		{"a Plan is shown", false, []string{"show", name, "--folder", good}, 0, loss, ""},
		{"a failed Plan is shown", false, []string{"show", failed, "--folder", good}, 3, "Stack bad: failed", "not all Stacks can be planned"},
		{"an unknown Plan", false, []string{"show", "none", "--folder", good}, 1, "", "`strata plan list` shows all"},
		{"an unknown commit", false, []string{"none", "--folder", good}, 1, "", `"none" is no commit`},
		{"another team's Plans", false, []string{"list", "--team", "shop"}, 1, "", "forbidden"},
		{"the engineer names no team", true, []string{"list", "--folder", t.TempDir()}, 1, "", "name one with --team"},
		{"a folder that is no clone", false, []string{"--folder", t.TempDir()}, 1, "", "is in no clone of a Git repository"},
		{"an unknown format", false, []string{"-o", "xml"}, 1, "", "use text, json, yaml or markdown"},
		{"a format that a list does not have", false, []string{"list", "-o", "markdown"}, 1, "", "use text, json or yaml"},
	} {
		t.Run(tc.does, func(t *testing.T) {
			config := cluster.Admin
			t.Setenv("KUBECONFIG", "")
			if !tc.engineer {
				config = nil
				t.Setenv("KUBECONFIG", kubeconfig)
			}
			out, said, code := call(t, config, tc.args...)
			if code != tc.code || !strings.Contains(out, tc.out) || !strings.Contains(said, tc.err) {
				t.Errorf("exit code %d, output\n%s\nerrors\n%s", code, out, said)
			}
		})
	}
	t.Run("the output of -o json has all fields", func(t *testing.T) {
		t.Setenv("KUBECONFIG", kubeconfig)
		out, said, code := call(t, nil, "show", name, "--team", "web", "-o", "json")
		var got plancmd.Result
		if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
			t.Fatalf("%v, exit code %d: %s %s", err, code, out, said)
		}
		p := got.Plans[0]
		if p.Name != name || p.Namespace != "team-web" || p.Branch != "feature" || p.Sync != "web" || p.Phase != plan.Ready || p.Created.IsZero() || !p.Stacks[0].Steps[0].LosesData {
			t.Errorf("%+v", p)
		}
	})
	t.Run("without a platform and a kubeconfig", func(t *testing.T) {
		t.Setenv("KUBECONFIG", "")
		if out, said, code := call(t, nil, "list", "--team", "web"); code != 1 || !strings.Contains(said, "sets KUBECONFIG to the team's kubeconfig") {
			t.Errorf("exit code %d, %s %s", code, out, said)
		}
	})
}
