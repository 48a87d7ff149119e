package controller_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/long"
)

const (
	// values creates no resources and outputs its config.
	values = `
metadata: {name: values}
program:
  configuration:
    plain: {type: String, default: none}
    number: {type: Number, default: 0}
    list: {type: "List<String>", default: [z]}
    object: {default: {z: z}}
    token: {type: String, default: none}
  outputs: {plain: "${plain}", number: "${number}", list: "${list}", object: "${object}", token: "${token}"}
`
	valuesHead = `
metadata: {name: values}
spec:
  stack: dev
  programRef: {name: values}
  serviceAccountName: web
`
	valuesEnv = `
  envRefs:
    PULUMI_BACKEND_URL: {type: Secret, secret: {name: context, key: backend}}
    PULUMI_CONFIG_PASSPHRASE: {type: Secret, secret: {name: context, key: passphrase}}
`
)

func (tm *team) object(name string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: tm.namespace, Name: name}, Data: data}
}

func (tm *team) secret(name string, data map[string]string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: tm.namespace, Name: name}, StringData: data}
}

// run applies the Program values with a Stack, and waits until the Stack is Ready.
func (tm *team) run(t *testing.T, spec string) *v1.Stack {
	t.Helper()
	tm.apply(t, &v1.Program{}, values)
	tm.apply(t, &v1.Stack{}, valuesHead+spec)
	return tm.await(t, "values", "Ready", ready)
}

func outputs(t *testing.T, stack *v1.Stack, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got := string(stack.Status.Outputs[name].Raw); got != value {
			t.Errorf("output %s is %s, want %s", name, got, value)
		}
	}
}

func TestConfigComesFromAllItsFields(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	c.create(t, tm.object("app", map[string]string{"object.json": `{"a": {"b": [1, true]}}`, "text": "{not json"}), tm.secret("app", map[string]string{"token": "canary-token"}))
	got := tm.run(t, valuesEnv+`
  config: {number: 30.5, list: [a, b], plain: overlaid}
  configRef:
    object: {name: app, key: object.json, json: true}
    plain: {name: app, key: text}
  secretsRef:
    token: {type: Secret, secret: {name: app, key: token}}
`)
	outputs(t, got, map[string]string{
		"number": "30.5", "list": `["a","b"]`, "object": `{"a":{"b":[1,true]}}`, "plain": `"{not json"`, "token": `"[secret]"`,
	})

	tm.apply(t, &v1.Stack{}, valuesHead+valuesEnv+"  config: {plain: x}\n  secrets: {token: canary-old}\n")
	got = tm.await(t, "values", "run again", func(s *v1.Stack) bool { return ready(s) && string(s.Status.Outputs["plain"].Raw) == `"x"` })
	outputs(t, got, map[string]string{"token": `"[secret]"`, "number": "0"})
}

func TestEnvironmentComesFromAllItsFields(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	cases := map[string]string{
		"spec.backend": "  backend: file://STATE\n  envRefs: {PULUMI_CONFIG_PASSPHRASE: {type: Literal, literal: {value: x}}}\n",
		"spec.envs and spec.envSecrets": `
  envs: [backend]
  envSecrets: [passphrase]
`,
		"the template's env": `
  workspaceTemplate:
    spec:
      env:
        - {name: ROOT, value: STATE}
        - {name: PULUMI_BACKEND_URL, value: "file://$(ROOT)"}
        - {name: PULUMI_CONFIG_PASSPHRASE, valueFrom: {secretKeyRef: {name: passphrase, key: PULUMI_CONFIG_PASSPHRASE}}}
        - {name: OTHER, valueFrom: {configMapKeyRef: {name: nothing, key: at all, optional: true}}}
`,
		"the template's envFrom": `
  workspaceTemplate:
    spec:
      envFrom:
        - {configMapRef: {name: suffix}, prefix: PULUMI_}
        - {secretRef: {name: passphrase}}
        - {secretRef: {name: nothing, optional: true}}
`,
		"the template over the rest": `
  envs: [wrong]
  envSecrets: [passphrase]
  workspaceTemplate: {spec: {env: [{name: PULUMI_BACKEND_URL, value: "file://STATE"}]}}
`,
	}
	for name, spec := range cases {
		t.Run(name, func(t *testing.T) {
			tm := newTeam(t, c)
			c.create(t,
				tm.object("backend", map[string]string{"PULUMI_BACKEND_URL": "file://" + tm.state}),
				tm.object("suffix", map[string]string{"BACKEND_URL": "file://" + tm.state}),
				tm.object("wrong", map[string]string{"PULUMI_BACKEND_URL": "nonsense"}),
				tm.secret("passphrase", map[string]string{"PULUMI_CONFIG_PASSPHRASE": "canary"}),
			)
			tm.run(t, strings.ReplaceAll(spec, "STATE", tm.state))
		})
	}
}

func TestTemplatesServiceAccountCounts(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	c.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: tm.namespace, Name: "powerless"}})
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack+"  workspaceTemplate: {spec: {serviceAccountName: powerless}}\n")
	got := tm.await(t, "shop-dev", "failed", func(s *v1.Stack) bool { return s.Status.LastUpdate != nil })
	if message := got.Status.LastUpdate.Message; !strings.Contains(message, tm.namespace+":powerless") {
		t.Errorf("message %q, want one about the account powerless", message)
	}
}

func TestChangedInputsRunTheStackAtOnce(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	stop := startOperator(t, c)
	tm := newTeam(t, c)
	configMap, secret := tm.object("app", map[string]string{"plain": "one"}), tm.secret("app", map[string]string{"token": "canary-one"})
	c.create(t, configMap, secret)
	got := tm.run(t, valuesEnv+`
  configRef: {plain: {name: app, key: plain}}
  secretsRef: {token: {type: Secret, secret: {name: app, key: token}}}
`)
	again := func(what string) {
		t.Helper()
		before := got.Status.LastUpdate.Name
		got = tm.await(t, "values", "run again for "+what, func(s *v1.Stack) bool { return ready(s) && s.Status.LastUpdate.Name != before })
	}
	configMap.Data["plain"] = "two"
	if err := c.Update(t.Context(), configMap); err != nil {
		t.Fatal(err)
	}
	again("its ConfigMap")
	outputs(t, got, map[string]string{"plain": `"two"`})

	secret.StringData = map[string]string{"token": "canary-two"}
	if err := c.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	again("its Secret")

	// A change while no operator runs has the same effect.
	stop()
	configMap.Data["plain"] = "three"
	if err := c.Update(t.Context(), configMap); err != nil {
		t.Fatal(err)
	}
	startOperator(t, c)
	again("its ConfigMap, changed meanwhile")
	outputs(t, got, map[string]string{"plain": `"three"`})
	checkKstatus(t, got, "Current")
}

func TestMissingInputIsNoticedWhenItComes(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, values)
	tm.apply(t, &v1.Stack{}, valuesHead+valuesEnv+"  configRef: {plain: {name: late, key: plain}}\n")
	got := tm.await(t, "values", "waiting", func(s *v1.Stack) bool {
		return condition(s, v1.ReconcilingCondition).Reason == v1.ReconcilingRetryReason
	})
	if message := condition(got, v1.ReadyCondition).Message; !strings.Contains(message, "spec.configRef.plain: there is no ConfigMap "+tm.namespace+"/late") {
		t.Errorf("message %q does not say what is missing", message)
	}
	came := time.Now()
	c.create(t, tm.object("late", map[string]string{"plain": "here"}))
	outputs(t, tm.await(t, "values", "Ready", ready), map[string]string{"plain": `"here"`})
	t.Logf("Ready %v after it came", time.Since(came).Round(time.Millisecond))
}

func TestUpdateTemplateShapesTheUpdate(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.apply(t, &v1.Program{}, program)
	tm.apply(t, &v1.Stack{}, stack+"  updateTemplate: {metadata: {labels: {a: b}}, spec: {type: preview, parallel: 2, message: hello, ttlAfterCompleted: 5m0s}}\n")
	got := tm.await(t, "shop-dev", "Ready", ready)
	if got.Status.LastUpdate.Type != v1.PreviewType {
		t.Errorf("the update is a %s, want a preview", got.Status.LastUpdate.Type)
	}
	if _, made := tm.configMap(t, "settings"); made {
		t.Error("the preview made something")
	}
	message := condition(got, v1.ReadyCondition).Message
	if !strings.Contains(message, "spec.updateTemplate.metadata, spec.updateTemplate.spec.ttlAfterCompleted") {
		t.Errorf("message %q does not name what has no effect", message)
	}

	tm.apply(t, &v1.Stack{}, stack+"  updateTemplate: {spec: {expectNoChanges: true}}\n")
	got = tm.await(t, "shop-dev", "failed", func(s *v1.Stack) bool {
		return s.Status.LastUpdate.Type == v1.UpType && s.Status.LastUpdate.State == v1.FailedStackStateMessage
	})
	if message := got.Status.LastUpdate.Message; !strings.Contains(message, "no changes were expected") {
		t.Errorf("message %q, want one about changes that were not expected", message)
	}
}
