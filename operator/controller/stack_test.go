package controller_test

import (
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/long"
)

const (
	// program creates a ConfigMap without naming its namespace. The provider deletes it in
	// the background, because the test cluster has no garbage collector.
	program = `
metadata: {name: shop}
program:
  configuration:
    colour: {type: String}
    size: {type: Number, default: 1}
  resources:
    settings:
      type: kubernetes:core/v1:ConfigMap
      properties:
        metadata: {name: settings, annotations: {pulumi.com/deletionPropagationPolicy: background}}
        data: {colour: "${colour}", token: "${token}"}
  variables:
    token: {fn::secret: canary-token}
  outputs:
    name: ${settings.metadata.name}
    namespace: ${settings.metadata.namespace}
    size: ${size}
    token: ${token}
`
	stackHead = `
metadata: {name: shop-dev}
spec:
  stack: dev
  programRef: {name: shop}
  serviceAccountName: web
  destroyOnFinalize: true
  envRefs:
    PULUMI_BACKEND_URL: {type: Secret, secret: {name: context, key: backend}}
    PULUMI_CONFIG_PASSPHRASE: {type: Secret, secret: {name: context, key: passphrase}}
`
	stack = stackHead + `
  config: {colour: red, size: 3}
`
)

func (tm *team) configMap(t *testing.T, name string) (*corev1.ConfigMap, bool) {
	t.Helper()
	configMap := &corev1.ConfigMap{}
	err := tm.Get(t.Context(), client.ObjectKey{Namespace: tm.namespace, Name: name}, configMap)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return configMap, !apierrors.IsNotFound(err)
}

func TestStackIsAppliedChangedAndDestroyed(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack)

	got := tm.await(t, "shop-dev", "Ready", ready)
	for name, want := range map[string]string{
		"name": `"settings"`, "namespace": `"` + tm.namespace + `"`, "size": "3", "token": `"[secret]"`,
	} {
		if raw := string(got.Status.Outputs[name].Raw); raw != want {
			t.Errorf("output %s = %s, want %s", name, raw, want)
		}
	}
	checkKstatus(t, got, "Current")
	if last := got.Status.LastUpdate; last.State != v1.SucceededStackStateMessage || last.Generation != got.Generation || last.Type != v1.UpType {
		t.Errorf("lastUpdate %+v, want a succeeded up of generation %d", last, got.Generation)
	}
	if configMap, ok := tm.configMap(t, "settings"); !ok || configMap.Data["colour"] != "red" {
		t.Errorf("ConfigMap holds %v, want colour red", configMap.Data)
	}
	all, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(all), "canary") {
		t.Error("the Stack holds a secret")
	}

	// A change of the Program triggers a run of the Stack.
	tm.apply(t, &v1.Program{}, strings.ReplaceAll(program, "size: ${size}", "grown: ${size}"))
	got = tm.await(t, "shop-dev", "rerun", func(s *v1.Stack) bool { return ready(s) && s.Status.Outputs["grown"].Raw != nil })
	if _, ok := got.Status.Outputs["size"]; ok {
		t.Error("an output that the Program no longer has is still there")
	}

	// Deletion works without the Program.
	if err := tm.Delete(t.Context(), &v1.Program{ObjectMeta: metav1.ObjectMeta{Namespace: tm.namespace, Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	tm.await(t, "shop-dev", "stalled for its Program", func(s *v1.Stack) bool {
		return condition(s, v1.StalledCondition).Reason == v1.StalledSourceUnavailableReason
	})
	if err := tm.Delete(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	tm.await(t, "shop-dev", "gone", gone)
	if _, ok := tm.configMap(t, "settings"); ok {
		t.Error("the ConfigMap is left behind")
	}
}

func TestStackWithoutDestroyOnFinalizeLeavesItsResources(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, strings.Replace(stack, "destroyOnFinalize: true", "destroyOnFinalize: false", 1))
	got := tm.await(t, "shop-dev", "Ready", ready)
	if err := tm.Delete(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	tm.await(t, "shop-dev", "gone", gone)
	if _, ok := tm.configMap(t, "settings"); !ok {
		t.Error("the ConfigMap was destroyed")
	}
}

func TestRunActsAsServiceAccountOfStack(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, `
metadata: {name: shop}
program:
  resources:
    stolen:
      type: kubernetes:core/v1:Secret
      properties: {metadata: {name: stolen}}
`)
	tm.apply(t, &v1.Stack{}, stackHead)
	got := tm.await(t, "shop-dev", "failed", func(s *v1.Stack) bool { return s.Status.LastUpdate != nil })
	message := got.Status.LastUpdate.Message
	for _, want := range []string{"stolen (kubernetes:core/v1:Secret)", "forbidden", "system:serviceaccount:" + tm.namespace + ":web"} {
		if !strings.Contains(message, want) {
			t.Errorf("message %q does not hold %q", message, want)
		}
	}
	if ready := condition(got, v1.ReadyCondition); ready.Status != metav1.ConditionFalse || ready.Message != message {
		t.Errorf("Ready is %s: %s, want False with the message", ready.Status, ready.Message)
	}
	checkKstatus(t, got, "InProgress")
	if strings.ContainsAny(message, "\n") {
		t.Errorf("message %q has more than one line", message)
	}

	// The run created nothing, so the Stack can be deleted at once.
	if err := tm.Delete(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	tm.await(t, "shop-dev", "gone", gone)
}

func TestFailedDestroyKeepsStack(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, strings.Replace(program, "    settings:\n", `    kept:
      type: kubernetes:core/v1:ConfigMap
      options: {protect: true}
      properties: {metadata: {name: kept}}
    settings:
`, 1))
	tm.apply(t, &v1.Stack{}, stack)
	got := tm.await(t, "shop-dev", "Ready", ready)
	if err := tm.Delete(t.Context(), got); err != nil {
		t.Fatal(err)
	}
	got = tm.await(t, "shop-dev", "failed to be destroyed", func(s *v1.Stack) bool {
		return s != nil && s.Status.LastUpdate.Type == v1.DestroyType
	})
	if got.Status.LastUpdate.State != v1.FailedStackStateMessage || !strings.Contains(got.Status.LastUpdate.Message, "protect") {
		t.Errorf("lastUpdate %+v, want a failed destroy that tells of the protected resource", got.Status.LastUpdate)
	}
	if len(got.Finalizers) == 0 {
		t.Error("the finalizer is gone")
	}
	if _, ok := tm.configMap(t, "kept"); !ok {
		t.Error("the protected resource is gone")
	}
}

func TestStacksThatCannotBeApplied(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	cases := map[string]struct {
		spec, program string
		kind, reason  string
		messages      []string
	}{
		"a reference to the operator's environment": {
			spec: "envRefs: {A: {type: Env, env: {name: OPERATOR_SECRET}}}",
			kind: v1.StalledCondition, reason: v1.StalledSpecInvalidReason, messages: []string{"spec.envRefs.A", "type Env", "files of the operator"},
		},
		"a reference to the operator's files": {
			spec: "secretsRef: {a: {type: FS, filesystem: {path: /etc/passwd}}}",
			kind: v1.StalledCondition, reason: v1.StalledSpecInvalidReason, messages: []string{"spec.secretsRef.a", "type FS", "files of the operator"},
		},
		"a Secret of another namespace": {
			spec: "envRefs: {A: {type: Secret, secret: {namespace: kube-system, name: a, key: b}}}",
			kind: v1.StalledCondition, reason: v1.StalledSpecInvalidReason, messages: []string{"spec.envRefs.A", "kube-system/a", "another namespace"},
		},
		"a Secret that is not there": {
			spec: "envRefs: {A: {type: Secret, secret: {name: missing, key: b}}}",
			kind: v1.ReconcilingCondition, reason: v1.ReconcilingRetryReason, messages: []string{"spec.envRefs.A", "no Secret", "/missing"},
		},
		"a key that is not there": {
			spec: "envRefs: {A: {type: Secret, secret: {name: context, key: missing}}}",
			kind: v1.ReconcilingCondition, reason: v1.ReconcilingRetryReason, messages: []string{"spec.envRefs.A", `no key "missing"`},
		},
		"a service account that is not there": {
			spec: "serviceAccountName: missing",
			kind: v1.ReconcilingCondition, reason: v1.ReconcilingRetryReason, messages: []string{`serviceaccounts "missing" not found`},
		},
		"fields that are not supported": {
			spec: "environment: [esc]\n  workspaceTemplate: {spec: {local: {dir: /app}}}",
			kind: v1.StalledCondition, reason: v1.StalledSpecInvalidReason, messages: []string{"spec.environment, spec.workspaceTemplate.spec.local", "not supported"},
		},
		"two sources": {
			spec: "projectRepo: https://example.com/repo\n  branch: main",
			kind: v1.StalledCondition, reason: v1.StalledSpecInvalidReason, messages: []string{"spec.programRef, spec.projectRepo", "more than one"},
		},
		"an environment taken from a pod": {
			spec: "workspaceTemplate: {spec: {env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]}}",
			kind: v1.StalledCondition, reason: v1.StalledSpecInvalidReason, messages: []string{"spec.workspaceTemplate.spec.env.A"},
		},
		"a Stack that waits for itself": {
			spec: "prerequisites: [{name: broken}]",
			kind: v1.StalledCondition, reason: v1.StalledSpecInvalidReason, messages: []string{"its own prerequisite"},
		},
		"a Program that is not there": {
			program: "metadata: {name: other}",
			kind:    v1.StalledCondition, reason: v1.StalledSourceUnavailableReason, messages: []string{"no Program", "/shop"},
		},
		"a Program that is not well formed": {
			program: "metadata: {name: shop}\nprogram: {configuration: {a: {}}}",
			kind:    v1.StalledCondition, reason: v1.StalledSourceUnavailableReason, messages: []string{"program.configuration.a"},
		},
		"a Program that refers to nothing": {
			program: "metadata: {name: shop}\nprogram: {outputs: {a: \"${nothing.there}\"}}",
			spec:    "envRefs: {PULUMI_CONFIG_PASSPHRASE: {type: Literal, literal: {value: x}}}",
			kind:    v1.StalledCondition, reason: v1.StalledSourceUnavailableReason, messages: []string{"program.outputs.a", `"nothing" could not be found`},
		},
		"a reserved variable among those of an object": {
			program: "metadata: {name: shop}\nprogram: {outputs: {a: 1}}",
			spec:    "envs: [reserved]",
			kind:    v1.StalledCondition, reason: v1.StalledSpecInvalidReason, messages: []string{"spec.envs", `"HOME" is reserved`},
		},
		"a reserved variable by a prefix": {
			program: "metadata: {name: shop}\nprogram: {outputs: {a: 1}}",
			spec:    "workspaceTemplate: {spec: {envFrom: [{configMapRef: {name: reserved}, prefix: PULUMI_}]}}",
			kind:    v1.StalledCondition, reason: v1.StalledSpecInvalidReason, messages: []string{"spec.workspaceTemplate.spec.envFrom[0]", `"PULUMI_HOME" is reserved`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tm := newTeam(t, c)
			c.create(t, tm.object("reserved", map[string]string{"HOME": "/evil"}))
			manifest := program
			if tc.program != "" {
				manifest = tc.program
			}
			tm.apply(t, &v1.Program{}, manifest)
			object := &v1.Stack{}
			spec := "metadata: {name: broken}\nspec:\n  stack: dev\n  backend: file://" + tm.state + "\n  programRef: {name: shop}\n  "
			if !strings.Contains(tc.spec, "serviceAccountName") {
				spec += "serviceAccountName: web\n  "
			}
			tm.apply(t, object, spec+tc.spec)
			got := tm.await(t, "broken", tc.reason, func(s *v1.Stack) bool { return condition(s, tc.kind).Reason == tc.reason })
			for _, want := range tc.messages {
				if message := condition(got, v1.ReadyCondition).Message; !strings.Contains(message, want) {
					t.Errorf("message %q does not hold %q", message, want)
				}
			}
			if err := tm.Delete(t.Context(), got); err != nil {
				t.Fatal(err)
			}
			tm.await(t, "broken", "gone", gone)
		})
	}
}

// checkKstatus checks the status that kstatus computes for an object.
func checkKstatus(t *testing.T, stack *v1.Stack, want string) {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stack)
	if err != nil {
		t.Fatal(err)
	}
	if got := kstatusOf(t, object); got != want {
		t.Errorf("kstatus is %s, want %s", got, want)
	}
}
