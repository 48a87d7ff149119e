package operator_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/conformance"
	"github.com/strata-platform/strata/test/long"
)

// conformer returns a team with the environment of the suite's runs, and the options of the suite.
func conformer(t *testing.T, c *cluster) (*team, conformance.Options) {
	t.Helper()
	tm := newTeam(t, c)
	tm.create(t, &corev1.Secret{ObjectMeta: tm.meta("environment"), StringData: map[string]string{
		"PULUMI_BACKEND_URL": "file://" + tm.state, "PULUMI_CONFIG_PASSPHRASE": passphrase,
	}})
	return tm, conformance.Options{Config: c.config, Namespace: tm.namespace, Secret: "environment", ServiceAccount: "web"}
}

// startConforming starts an operator with the plugins of the suite's Programs.
func startConforming(t *testing.T, c *cluster) {
	t.Helper()
	o := prepareOperator(t, c)
	o.cmd.Env = append(o.cmd.Env, "PATH="+withPlugins(t, c.tools, "random"))
	o.start(t)
}

// left returns the objects of the suite in a namespace, and the stacks in its backend.
func (tm *team) left(t *testing.T) []string {
	t.Helper()
	var left []string
	for _, list := range []client.ObjectList{&v1.StackList{}, &v1.ProgramList{}, &corev1.ConfigMapList{}, &corev1.SecretList{}} {
		if err := tm.List(t.Context(), list, client.InNamespace(tm.namespace), client.HasLabels{conformance.Label}); err != nil {
			t.Fatal(err)
		}
		left = append(left, names(t, list)...)
	}
	projects, _ := os.ReadDir(tm.state + "/.pulumi/stacks")
	for _, project := range projects {
		states, _ := os.ReadDir(tm.state + "/.pulumi/stacks/" + project.Name())
		for _, state := range states {
			if strings.HasSuffix(state.Name(), ".json") {
				left = append(left, "state "+state.Name())
			}
		}
	}
	return left
}

func TestTheOperatorConforms(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startConforming(t, c)
	tm, o := conformer(t, c)
	results, err := conformance.Run(t.Context(), o)
	if err != nil {
		t.Error(err)
	}
	// No mutating policy fills in the Stacks of this cluster.
	skipped := map[string]bool{"short-stack": true}
	for _, result := range results {
		t.Logf("%-8s %5.1fs  %s: %s", result.Outcome, result.Seconds, result.Name, result.Seen)
		if want := conformance.Passed; result.Outcome != want && (!skipped[result.Name] || result.Outcome != conformance.Skipped) {
			t.Errorf("%s: %s\n%s\nseen: %s", result.Name, result.Outcome, result.Must, result.Seen)
		}
	}
	if len(results) != len(conformance.Statements()) {
		t.Errorf("%d results for %d statements", len(results), len(conformance.Statements()))
	}
	if left := tm.left(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestViolationsAreFound plays an operator that breaks a promise in each of several scenes: the test changes an object just before
// a check.
func TestViolationsAreFound(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startConforming(t, c)
	tm, o := conformer(t, c)
	of := func(object client.Object, suffix string) client.Object {
		run := tm.run(t)
		object.SetNamespace(tm.namespace)
		object.SetName("conformance-" + run + "-" + suffix)
		object.SetLabels(map[string]string{conformance.Label: run})
		return object
	}
	patch := func(object client.Object, merge string) error {
		return tm.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(merge)))
	}
	violations := map[string]func() error{
		"secret-outputs": func() error {
			login := of(&corev1.Secret{}, "life-login").(*corev1.Secret)
			err := tm.Get(t.Context(), client.ObjectKeyFromObject(login), login)
			shown := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/password":%q}}}`, login.Data["password"])
			return errors.Join(err, patch(of(&v1.Program{}, "life"), shown))
		},
		"kept":        func() error { return tm.Delete(t.Context(), of(&corev1.ConfigMap{}, "keep-settings")) },
		"secrets-ref": func() error { return patch(of(&corev1.Secret{}, "inputs-login"), `{"stringData":{"token":"another"}}`) },
		"failure-loses-nothing": func() error {
			return errors.Join(tm.Delete(t.Context(), of(&corev1.Secret{}, "failure-login")), tm.Create(t.Context(), of(&corev1.Secret{}, "failure-login")))
		},
		"destroyed-without-program": func() error { return patch(of(&v1.Stack{}, "orphan"), `{"metadata":{"finalizers":null}}`) },
		"secret-missing": func() error {
			token := of(&corev1.Secret{}, "late-token").(*corev1.Secret)
			token.StringData = map[string]string{"token": "early"}
			return tm.Create(t.Context(), token)
		},
		"preview": func() error { return tm.Create(t.Context(), of(&corev1.ConfigMap{}, "preview-settings")) },
	}
	o.Wait = 40 * time.Second
	o.Begin = func(s conformance.Statement) {
		if violate := violations[s.Name]; violate != nil {
			if err := violate(); err != nil {
				t.Errorf("%s: %v", s.Name, err)
			}
		}
	}
	results, err := conformance.Run(t.Context(), o)
	if err != nil {
		t.Error(err)
	}
	for _, result := range results {
		if _, violated := violations[result.Name]; violated != (result.Outcome == conformance.Failed) {
			t.Errorf("%s: %s: %s", result.Name, result.Outcome, result.Seen)
		}
	}
}

// run returns the identifier of the suite's run in the team's namespace.
func (tm *team) run(t *testing.T) string {
	t.Helper()
	var list v1.StackList
	if err := tm.List(t.Context(), &list, client.InNamespace(tm.namespace), client.HasLabels{conformance.Label}); err != nil || len(list.Items) == 0 {
		t.Errorf("no Stack of the suite (%v)", err)
		return ""
	}
	return list.Items[0].Labels[conformance.Label]
}

// TestAnInterruptedConformanceLeavesNothing interrupts the suite in the middle of several runs.
func TestAnInterruptedConformanceLeavesNothing(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startConforming(t, c)
	for _, after := range []string{"stack-ready", "kept", "env-refs"} {
		t.Run("in "+after, func(t *testing.T) {
			tm, o := conformer(t, c)
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			o.Begin = func(s conformance.Statement) {
				if s.Name == after {
					time.AfterFunc(3*time.Second, interrupt)
				}
			}
			results, err := conformance.Run(ctx, o)
			if err == nil || !strings.Contains(err.Error(), "did not finish: context canceled") {
				t.Errorf("the error is %v", err)
			}
			if len(results) != len(conformance.Statements()) {
				t.Errorf("%d results for %d statements", len(results), len(conformance.Statements()))
			}
			if left := tm.left(t); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TestAClusterWithoutAnOperatorDoesNotConform covers all statements: without an operator, the first one fails, and no other passes.
func TestAClusterWithoutAnOperatorDoesNotConform(t *testing.T) {
	c := startCluster(t)
	tm, o := conformer(t, c)
	o.Wait = time.Second
	results, err := conformance.Run(t.Context(), o)
	if err != nil {
		t.Error(err)
	}
	for i, result := range results {
		want := conformance.Skipped
		if i == 0 {
			want = conformance.Failed
		}
		if result.Outcome != want || !strings.Contains(result.Seen, map[conformance.Outcome]string{
			conformance.Failed: "no operator has set a condition", conformance.Skipped: "stack-ready failed",
		}[want]) {
			t.Errorf("%s: %s: %s", result.Name, result.Outcome, result.Seen)
		}
	}
	if left := tm.left(t); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestConformanceNamesWhatIsMissing(t *testing.T) {
	c := startCluster(t)
	tm, o := conformer(t, c)
	tm.create(t, &corev1.Secret{ObjectMeta: tm.meta("empty")})
	for secret, want := range map[string]string{
		"nowhere": "has no Secret nowhere: create it with the environment of the runs",
		"empty":   "is empty: its keys must be the environment of the runs",
	} {
		o.Secret = secret
		if results, err := conformance.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) || results != nil {
			t.Errorf("Secret %s: %v, results %v", secret, err, results)
		}
	}
	if left := tm.left(t); len(left) > 0 {
		t.Errorf("created: %v", left)
	}
}

// names returns the names of a list's objects.
func names(t *testing.T, list client.ObjectList) []string {
	t.Helper()
	items, err := meta.ExtractList(list)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, item := range items {
		found = append(found, fmt.Sprintf("%T %s", item, item.(client.Object).GetName()))
	}
	return found
}
