package approvecmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/cmd/strata/internal/approvecmd"
	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local"
	"github.com/strata-platform/strata/internal/plans/planstest"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/test/docstest"
	"github.com/strata-platform/strata/test/long"
)

func TestDocumentedApproval(t *testing.T) {
	docstest.CheckJSON[approvecmd.Result](t, "docs/reference/output.md", "approve")
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
	if e.config == nil {
		return nil, nil, errNone
	}
	return e.config, []string{"team-" + team}, nil
}

// call runs the command with an answer to its question. config is that of the platform's engineer, nil without a platform.
func call(t *testing.T, config *rest.Config, answer string, args ...string) (out, said string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command := newCommand(config, answer, &stdout, &stderr)
	command.SetArgs(append(args, "--team", "web"))
	command.SetOut(io.Discard)
	err = command.ExecuteContext(t.Context())
	return stdout.String(), stderr.String(), err
}

func newCommand(config *rest.Config, answer string, stdout, stderr io.Writer) *cobra.Command {
	command := approvecmd.New(cli.Options{
		In: strings.NewReader(answer), Out: stdout, Err: stderr,
		Arguments: func(check cobra.PositionalArgs) cobra.PositionalArgs { return check },
		Usage:     func(err error) error { return err },
		Local:     func() (*local.Platform, error) { return nil, errNone },
		Bind: func(command *cobra.Command, formats ...string) cli.Call {
			e := &engineer{config: config}
			e.Bind(command, formats...)
			return e
		},
	})
	command.SilenceErrors, command.SilenceUsage = true, true
	return command
}

func TestApprove(t *testing.T) {
	long.Test(t)
	cluster := planstest.Start(t)
	folder := t.TempDir()
	file := func(name string, content []byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	team, dba := file("team", cluster.Kubeconfig), file("dba", cluster.ApproverKubeconfig)
	digest := "sha256:" + strings.Repeat("0", 64)
	cluster.Plan(t, "stack.shop", plan.Spec{Stack: "shop"}, plan.Status{Phase: plan.Ready, Digest: digest, Stacks: []plan.Stack{{
		Name: "shop", Approval: "data", Changes: map[string]int{"update": 1, "delete": 1}, Steps: []plan.Step{
			{Op: "update", Name: "auth\x1b[2J", Type: "kubernetes:core/v1:Secret"},
			{Op: "delete", Name: "orders", Type: "gcp:sql/database:Database", LosesData: true},
		},
	}}})
	ofBranch := plan.Spec{Branch: "feature", Commit: strings.Repeat("0", 40), Account: "web", Manifests: "{}"}
	cluster.Plan(t, "feature", ofBranch, plan.Status{Phase: plan.Ready, Digest: digest, Stacks: []plan.Stack{{
		Name: "shop", Changes: map[string]int{"update": 1}, Steps: []plan.Step{{Op: "update", Name: "auth", Type: "kubernetes:core/v1:Secret"}},
	}}})
	approvals := func() int { return len(cluster.Approvals(t)) }
	const shown = "Plan stack.shop: the next run of Stack shop\nDATA LOSS: Stack shop deletes orders (gcp:sql/database:Database)\n\nStack shop: 1 update, 1 delete\n" +
		"  - delete  orders (gcp:sql/database:Database)  LOSES DATA\n  ~ update  auth\\x1b[2J (kubernetes:core/v1:Secret)\n"
	for _, tc := range []struct {
		does       string
		kubeconfig string // of the engineer if it is empty
		answer     string
		args       []string
		out, said  string
		err        string
		given      int
	}{
		{"an approver answers no", dba, "\n", []string{"stack.shop"}, "", shown + "\nApprove Plan stack.shop of namespace team-web? [y/N] ", "not confirmed: nothing was changed", 0},
		{"a team approves", team, "y\n", []string{"stack.shop"}, "", "", "ada may not approve Plans in namespace team-web: ask somebody who may, or the platform team", 0},
		{"an unknown Plan", dba, "y\n", []string{"none"}, "", "", `there is no Plan "none" in namespace team-web: these wait for an approval: stack.shop`, 0},
		{"an approver answers yes", dba, "y\n", []string{"stack.shop"}, "Plan stack.shop is approved by dba: `strata status` shows what the operator does\n", shown, "", 1},
		{"another approves it again", "", "", []string{"stack.shop"}, "Plan stack.shop was approved by dba on ", "", "", 1},
		{"the engineer approves without a question", "", "", []string{"feature", "--yes"}, "Plan feature is approved by ", "\nCommit not verified: you approve these changes, whatever commit contains them.\n\nThe operator would do this without an approval.", "", 2},
		{"the approver is told as JSON", dba, "", []string{"stack.shop", "-o", "json"}, `"already": true`, "", "", 2},
	} {
		t.Run(tc.does, func(t *testing.T) {
			t.Setenv("KUBECONFIG", tc.kubeconfig)
			config := cluster.Admin
			if tc.kubeconfig != "" {
				config = nil
			}
			out, said, err := call(t, config, tc.answer, tc.args...)
			message := ""
			if err != nil {
				message = err.Error()
			}
			if !strings.Contains(out, tc.out) || !strings.Contains(said, tc.said) || !strings.HasPrefix(message, tc.err) || (tc.err == "") != (err == nil) {
				t.Errorf("output\n%s\nsaid\n%s\nerror %v", out, said, err)
			}
			if given := approvals(); given != tc.given {
				t.Errorf("%d Approvals, want %d", given, tc.given)
			}
		})
	}
	t.Run("the command waits for the operator", func(t *testing.T) {
		t.Setenv("KUBECONFIG", dba)
		status := v1.StackStatus{Approval: &v1.StackApproval{Plan: "stack.shop", Digest: digest, By: "dba", Time: metav1.Now()}}
		status.MarkReady("applied")
		cluster.Stack(t, "shop", status)
		out, said, err := call(t, nil, "", "stack.shop", "--wait", "-o", "json")
		var got approvecmd.Result
		if decoded := json.Unmarshal([]byte(out), &got); decoded != nil || err != nil || !got.Applied || got.By != "dba" || got.Digest != digest || got.Time.IsZero() {
			t.Errorf("%+v, %v, %v; said %s", got, decoded, err, said)
		}
	})
	t.Run("a wait that ends is an error, and the approval stays", func(t *testing.T) {
		t.Setenv("KUBECONFIG", dba)
		status := v1.StackStatus{Approval: &v1.StackApproval{Plan: "stack.shop", Digest: digest, Time: metav1.NewTime(time.Now().Add(time.Hour))}}
		status.MarkStalled(v1.StalledAwaitingApprovalReason, "the state has changed")
		cluster.Stack(t, "shop", status)
		if out, _, err := call(t, nil, "", "stack.shop", "--wait"); err == nil || !strings.Contains(err.Error(), "Stack team-web/shop is not applied: it waits for an approval of Plan stack.shop: the state has changed") {
			t.Errorf("%s, %v", out, err)
		}
	})
	t.Run("a shell completes the Plans that wait", func(t *testing.T) {
		t.Setenv("KUBECONFIG", dba)
		cluster.Plan(t, "stack.other", plan.Spec{Stack: "other"}, plan.Status{Phase: plan.Ready, Digest: digest})
		command := newCommand(nil, "", io.Discard, io.Discard)
		command.SetContext(t.Context())
		if err := command.ParseFlags([]string{"--team", "web"}); err != nil {
			t.Fatal(err)
		}
		if got, _ := command.ValidArgsFunction(command, nil, "stack."); !slices.Equal(got, []string{"stack.other"}) {
			t.Errorf("%q", got)
		}
	})
}
