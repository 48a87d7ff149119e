package controller_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller"
	"github.com/strata-platform/strata/test/long"
)

// three creates three ConfigMaps. The second depends on the first.
const three = `
metadata: {name: shop}
program:
  configuration: {colour: {type: String}}
  resources:
    first:
      type: kubernetes:core/v1:ConfigMap
      properties: {metadata: {name: first, annotations: {pulumi.com/deletionPropagationPolicy: background}}, data: {colour: "${colour}"}}
    second:
      type: kubernetes:core/v1:ConfigMap
      properties: {metadata: {name: second, annotations: {pulumi.com/deletionPropagationPolicy: background}}, data: {colour: "${first.data.colour}"}}
    third:
      type: kubernetes:core/v1:ConfigMap
      properties: {metadata: {name: third, annotations: {pulumi.com/deletionPropagationPolicy: background}}, data: {colour: "${colour}"}}
`

const urnOfFirst = `"urn:pulumi:dev::shop::kubernetes:core/v1:ConfigMap::first"`

// colours returns the colours of the ConfigMaps.
func (tm *team) colours(t *testing.T, names ...string) string {
	t.Helper()
	var all []string
	for _, name := range names {
		configMap, _ := tm.configMap(t, name)
		all = append(all, configMap.Data["colour"])
	}
	return strings.Join(all, " ")
}

func TestTargetsLimitTheUpdate(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, three)
	for _, step := range []struct{ spec, want string }{
		{"  config: {colour: red}\n  targets: [" + urnOfFirst + "]\n", "red  "},
		{"  config: {colour: red}\n", "red red red"},
		{"  config: {colour: blue}\n  targets: [" + urnOfFirst + "]\n  targetDependents: true\n", "blue blue red"},
		{"  config: {colour: green}\n  updateTemplate: {spec: {target: [" + urnOfFirst + "]}}\n", "green blue red"},
	} {
		tm.apply(t, &v1.Stack{}, stackHead+step.spec)
		tm.await(t, "shop-dev", "Ready", ready)
		if got := tm.colours(t, "first", "second", "third"); got != step.want {
			t.Errorf("with %s\nthe colours are %q, want %q", step.spec, got, step.want)
		}
	}
}

func TestRefreshFindsWhatOthersChanged(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack)
	tm.await(t, "shop-dev", "Ready", ready)
	meddle := func() {
		t.Helper()
		configMap, _ := tm.configMap(t, "settings")
		tm.remove(t, configMap)
	}

	meddle()
	tm.apply(t, &v1.Stack{}, stack+"  refresh: true\n  expectNoRefreshChanges: true\n")
	got := tm.await(t, "shop-dev", "failed", func(s *v1.Stack) bool {
		return s.Status.LastUpdate.Generation == s.Generation && s.Status.LastUpdate.State == v1.FailedStackStateMessage
	})
	if message := got.Status.LastUpdate.Message; !strings.Contains(message, "no changes were expected") {
		t.Errorf("message %q, want one about a change that was not expected", message)
	}
	tm.apply(t, &v1.Stack{}, stack+"  refresh: true\n")
	tm.await(t, "shop-dev", "Ready", ready)
	if _, there := tm.configMap(t, "settings"); !there {
		t.Error("what somebody deleted was not made again")
	}
}

func TestPreviewChangesNothing(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack+"  preview: true\n")
	got := tm.await(t, "shop-dev", "Ready", ready)
	if _, made := tm.configMap(t, "settings"); made || got.Status.LastUpdate.Type != v1.PreviewType || got.Status.Outputs != nil {
		t.Errorf("after a %s: made %v, outputs %v", got.Status.LastUpdate.Type, made, got.Status.Outputs)
	}
	tm.remove(t, got)
	tm.await(t, "shop-dev", "gone", gone)
}

func TestStackThatMustExistIsNotCreated(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack+"  useLocalStackOnly: true\n")
	got := tm.await(t, "shop-dev", "failed", func(s *v1.Stack) bool { return s.Status.LastUpdate != nil })
	if message := got.Status.LastUpdate.Message; !strings.Contains(message, "no stack named 'dev' found") {
		t.Errorf("message %q, want one about the stack", message)
	}
	// A Stack that never created anything can be deleted at once.
	tm.remove(t, got)
	tm.await(t, "shop-dev", "gone", gone)
}

// vault is a server that emulates the encryption of HashiCorp's Vault.
func vault(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var ask map[string]string
		if err := json.NewDecoder(req.Body).Decode(&ask); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer := map[string]string{"ciphertext": "vault:v1:" + ask["plaintext"]}
		if strings.Contains(req.URL.Path, "/decrypt/") {
			answer = map[string]string{"plaintext": strings.TrimPrefix(ask["ciphertext"], "vault:v1:")}
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"data": answer}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// provider returns the type of the secrets provider that encrypts the state of the Stack values.
func (tm *team) provider(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(tm.state, ".pulumi", "stacks", "values", "dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		Checkpoint struct {
			Latest struct {
				Provider struct{ Type string } `json:"secrets_providers"`
			}
		}
	}
	if err := json.Unmarshal(content, &state); err != nil {
		t.Fatal(err)
	}
	return state.Checkpoint.Latest.Provider.Type
}

func TestSecretsProviderMayBeChangedLater(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	spec := valuesEnv + "    VAULT_SERVER_URL: {type: Literal, literal: {value: " + vault(t) + "}}\n" +
		"    VAULT_SERVER_TOKEN: {type: Literal, literal: {value: x}}\n  secrets: {token: canary}\n"
	tm.run(t, spec)
	if got := tm.provider(t); got != "passphrase" {
		t.Errorf("the state is encrypted by %s at first", got)
	}
	tm.apply(t, &v1.Stack{}, valuesHead+spec+"  secretsProvider: hashivault://key\n")
	got := tm.await(t, "values", "Ready", ready)
	if got := tm.provider(t); got != "cloud" {
		t.Errorf("the state is encrypted by %s after the change", got)
	}
	if got.Status.ProjectInfo.SecretsProvider != "hashivault://key" {
		t.Errorf("projectInfo %+v", got.Status.ProjectInfo)
	}
	outputs(t, got, map[string]string{"token": `"[secret]"`})

	tm.apply(t, &v1.Stack{}, valuesHead+spec+"  secretsProvider: passphrase\n")
	tm.await(t, "values", "stalled", func(s *v1.Stack) bool {
		return strings.Contains(condition(s, v1.StalledCondition).Message, "spec.secretsProvider")
	})
}

func TestConflictEndsSoonAfterItsCause(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.lock(t, "elsewhere")
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack+"  retryOnUpdateConflict: true\n")
	got := tm.await(t, "shop-dev", "tried twice", func(s *v1.Stack) bool {
		return strings.Contains(condition(s, v1.ReconcilingCondition).Message, "somebody@elsewhere")
	})
	if condition(got, v1.StalledCondition).Reason != "" || got.Status.LastUpdate.Failures != 0 {
		t.Errorf("status %+v, want no growing wait", got.Status)
	}
	checkKstatus(t, got, "InProgress")
	if err := os.RemoveAll(filepath.Join(tm.state, ".pulumi", "locks")); err != nil {
		t.Fatal(err)
	}
	tm.await(t, "shop-dev", "Ready", ready)
}

// endless creates a Program that waits forever, because the test cluster runs no pods.
func (tm *team) endless(t *testing.T) {
	t.Helper()
	tm.create(t,
		&rbacv1.Role{ObjectMeta: tm.meta("pods"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods", "events"}, Verbs: []string{"*"}}}},
		&rbacv1.RoleBinding{
			ObjectMeta: tm.meta("pods"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "pods"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: tm.namespace, Name: "web"}},
		})
	tm.apply(t, &v1.Program{}, `
metadata: {name: shop}
program:
  resources:
    endless:
      type: kubernetes:core/v1:Pod
      properties: {metadata: {name: endless, annotations: {pulumi.com/deletionPropagationPolicy: background}}, spec: {containers: [{name: a, image: a}]}}
`)
}

func TestRunThatTakesTooLongIsStoppedInGoodOrder(t *testing.T) {
	c := startCluster(t)
	startOperatorWith(t, c, func(opts *controller.Options) { opts.RunTimeout = 5 * time.Second })
	tm := newTeam(t, c)
	tm.endless(t)
	tm.apply(t, &v1.Stack{}, stackHead)
	got := tm.await(t, "shop-dev", "cut off", func(s *v1.Stack) bool { return s.Status.LastUpdate != nil })
	if message := got.Status.LastUpdate.Message; !strings.Contains(message, "took longer than 5s") {
		t.Errorf("message %q, want one about the time", message)
	}
	// The run has released its lock, and the Stack still records where its resources may
	// be.
	if locks, _ := filepath.Glob(filepath.Join(tm.state, ".pulumi", "locks", "*", "*", "*", "*.json")); locks != nil {
		t.Errorf("locks are left: %v", locks)
	}
	if got.Status.ProjectInfo == nil {
		t.Error("the operator does not know any more what there may be to destroy")
	}
}

func TestRunThatHangsSaysWhatItWaitsForAndEndsWhenItsStackIsDeleted(t *testing.T) {
	c := startCluster(t)
	startOperatorWith(t, c, func(opts *controller.Options) { opts.ReportEvery = time.Second })
	tm := newTeam(t, c)
	tm.endless(t)
	tm.apply(t, &v1.Stack{}, stackHead)
	pod := types.NamespacedName{Namespace: tm.namespace, Name: "endless"}
	tm.await(t, "shop-dev", "saying what it waits for", func(s *v1.Stack) bool {
		c := condition(s, v1.ReconcilingCondition)
		return c.Reason == v1.ReconcilingProcessingReason && strings.HasPrefix(c.Message, "up has been running for ") &&
			strings.HasSuffix(c.Message, "s: it waits for endless (kubernetes:core/v1:Pod)")
	})
	// The run says so when it begins to create the pod. It changes its Stack each second.
	tm.awaitAny(t, "the pod of its run", func() bool { return tm.Get(t.Context(), pod, &corev1.Pod{}) == nil })
	tm.remove(t, &v1.Stack{ObjectMeta: tm.meta("shop-dev")})
	tm.await(t, "shop-dev", "gone", gone)
	if err := tm.Get(t.Context(), pod, &corev1.Pod{}); !apierrors.IsNotFound(err) {
		t.Errorf("what the run had begun is left: %v", err)
	}
}

func TestFieldsWithoutEffectAreNamed(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	got := tm.run(t, valuesEnv+`
  workspaceReclaimPolicy: Delete
  workspaceTemplate:
    spec:
      image: pulumi/pulumi
      resources: {limits: {memory: 1Gi}}
      podTemplate: {spec: {containers: [{name: pulumi, volumeMounts: [{name: a, mountPath: /a}]}], volumes: [{name: a, emptyDir: {}}]}}
`)
	const want = "spec.workspaceTemplate.spec.image, spec.workspaceTemplate.spec.resources, spec.workspaceTemplate.spec.podTemplate"
	if message := condition(got, v1.ReadyCondition).Message; !strings.Contains(message, want) {
		t.Errorf("message %q does not name %s", message, want)
	}
	tm.awaitEvent(t, corev1.EventTypeWarning, v1.StackFieldsNotAppliedEvent, want)
}

// awaitEvent waits for an event in the team's namespace whose note contains a text.
func (tm *team) awaitEvent(t *testing.T, kind, reason, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	watch, err := tm.Watch(ctx, &eventsv1.EventList{}, client.InNamespace(tm.namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	for event := range watch.ResultChan() {
		if e, ok := event.Object.(*eventsv1.Event); ok && e.Reason == reason && e.Type == kind && strings.Contains(e.Note, text) {
			return
		}
	}
	t.Errorf("there is no %s event %s about %q", kind, reason, text)
}

func TestMetricsAreUpstreamsAndMore(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.run(t, valuesEnv)
	deadline := time.After(30 * time.Second)
	found := map[string][]float64{}
	want := map[string][]float64{"stacks_failing": {0}, "stacks_reconciling": {0}, "stacks_stalled": {0}, "stack_runs_total": {1}}
	// The metrics follow the operator's cache with a delay.
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for seen := (map[string][]float64)(nil); !reflect.DeepEqual(seen, want); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("the metrics are %v, want %v", found, want)
		}
		found = gather(t, tm.namespace)
		seen = map[string][]float64{}
		for name := range want {
			seen[name] = found[name]
		}
	}
	for _, name := range []string{"stacks_active", "programs_active"} {
		if len(found[name]) != 1 || found[name][0] < 1 {
			t.Errorf("%s is %v, want one or more", name, found[name])
		}
	}
}

// gather returns the values of the metrics that have no namespace or the given one.
func gather(t *testing.T, namespace string) map[string][]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			ours := true
			for _, label := range metric.Label {
				ours = ours && (label.GetName() != "namespace" || label.GetValue() == namespace)
			}
			if ours {
				found[family.GetName()] = append(found[family.GetName()], metric.GetGauge().GetValue()+metric.GetCounter().GetValue())
			}
		}
	}
	return found
}
