package attack

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// unique returns a random text that differs from all others.
func unique() string { return strings.ToLower(rand.Text()) }

// stack returns a Stack of a team that runs the Program of the same name. config is the YAML of spec.config; empty means
// none.
func (t *team) stack(name, config string) string {
	var env strings.Builder
	for _, key := range []string{"PULUMI_BACKEND_URL", "PULUMI_CONFIG_PASSPHRASE", "GOOGLE_CREDENTIALS", "GOOGLE_PROJECT", "GOOGLE_REGION"} {
		fmt.Fprintf(&env, "    %s: {type: Secret, secret: {name: strata-context, key: %s}}\n", key, key)
	}
	if config == "" {
		config = "{}"
	}
	return fmt.Sprintf(`apiVersion: pulumi.com/v1
kind: Stack
metadata: {name: %[1]s}
spec:
  stack: %[1]s
  programRef: {name: %[1]s}
  serviceAccountName: %[2]s
  destroyOnFinalize: true
  config: %[3]s
  configRef: {instance: {name: strata-context, key: instance}}
  envRefs:
%[4]s`, name, t.name, config, env.String())
}

// program returns a Program. body is the YAML below "program:", indented by two spaces.
func program(name, body string) string {
	return fmt.Sprintf("apiVersion: pulumi.com/v1\nkind: Program\nmetadata: {name: %s}\nprogram:\n%s\n", name, body)
}

// start creates a Program and the Stack that runs it.
func (t *team) start(ctx context.Context, name, body, config string) error {
	if _, err := t.apply(ctx, programs, program(name, body)); err != nil {
		return err
	}
	_, err := t.apply(ctx, stacks, t.stack(name, config))
	return err
}

// outcome waits until the Stack's first run has ended. A failed run is a stopped attack, with the Stack's message.
func (t *team) outcome(ctx context.Context, name string) (*unstructured.Unstructured, error) {
	var stack *unstructured.Unstructured
	err := eventually(ctx, "Stack "+name+" of team "+t.name+" has run", func(ctx context.Context) (bool, error) {
		var err error
		if stack, err = t.client.Resource(stacks).Namespace(t.namespace).Get(ctx, name, metav1.GetOptions{}); err != nil {
			return false, err
		}
		if condition(stack, "Ready")["status"] == "True" {
			return true, nil
		}
		message, _, _ := unstructured.NestedString(stack.Object, "status", "lastUpdate", "message")
		if state, _, _ := unstructured.NestedString(stack.Object, "status", "lastUpdate", "state"); state == "failed" {
			return true, refusal("%s", message)
		}
		if stalled := condition(stack, "Stalled"); stalled["status"] == "True" {
			return true, refusal("%v", stalled["message"])
		}
		return false, nil
	})
	return stack, err
}

// end deletes a Stack and its Program, and waits until the Stack's resources are destroyed.
func (t *team) end(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), attackTimeout)
	defer cancel()
	return errors.Join(t.remove(ctx, stacks, name), t.remove(ctx, programs, name))
}

// try runs a Program and then deletes it. A failed deletion is an error, and takes precedence over the result of the run.
func (t *team) try(ctx context.Context, body, config string) error {
	name := "try-" + unique()[:8]
	err := t.start(ctx, name, body, config)
	if err == nil {
		_, err = t.outcome(ctx, name)
	}
	if ended := t.end(ctx, name); ended != nil {
		return fmt.Errorf("the deletion of Stack %s does not finish: %w; its run: %w", name, ended, err)
	}
	return err
}

// runs returns an error if a Program with one output does not run.
func (t *team) runs(ctx context.Context, name, value string) error {
	name += "-" + unique()[:8]
	err := t.start(ctx, name, "  outputs: {value: "+value+"}", "")
	if err == nil {
		_, err = t.outcome(ctx, name)
	}
	return errors.Join(err, t.end(ctx, name))
}

// Exit codes that report the result of a script in a run.
const (
	exitDone    = 42
	exitRefused = 43
)

// stopped matches the message of a run whose script was denied an operation, or could not start.
const stopped = `exit code 43|no such file|not found|permission denied|cannot be used`

// script runs a shell script in a run of the team: as the exec plugin of a kubeconfig, which the Kubernetes plugin runs.
// If the script's last command succeeds, the attack succeeds.
func (t *team) script(ctx context.Context, script string) error {
	err := t.try(ctx, secretBody, t.kubeconfigOf(script))
	if err != nil && strings.Contains(err.Error(), fmt.Sprintf("exit code %d", exitDone)) {
		return nil
	}
	return err
}

// secretBody creates an object in the cluster, so that the plugin uses its kubeconfig.
const secretBody = `  resources:
    made: {type: "kubernetes:core/v1:ConfigMap", properties: {metadata: {name: made}}}`

// kubeconfigOf returns the config of a Stack whose Kubernetes plugin runs a script.
func (t *team) kubeconfigOf(script string) string {
	script = fmt.Sprintf("( %s ) && exit %d; exit %d", script, exitDone, exitRefused)
	kubeconfig, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "a",
		"contexts": []any{map[string]any{"name": "a", "context": map[string]any{"cluster": "a", "user": "a"}}},
		"clusters": []any{map[string]any{"name": "a", "cluster": map[string]any{"server": t.f.status.Server, "insecure-skip-tls-verify": true}}},
		"users": []any{map[string]any{"name": "a", "user": map[string]any{"exec": map[string]any{
			"apiVersion": "client.authentication.k8s.io/v1", "command": "/bin/sh", "args": []string{"-c", script}, "interactiveMode": "Never",
		}}}},
	})
	t.f.must(err)
	config, err := json.Marshal(map[string]string{"kubernetes:kubeconfig": string(kubeconfig)})
	t.f.must(err)
	return string(config)
}

// scripted returns a do that runs a script in a run of mallory's. It replaces {HOME}, {WEB} and similar placeholders by
// paths of the platform.
func scripted(script string) func(context.Context, *field) error {
	return func(ctx context.Context, f *field) error { return f.mallory.script(ctx, f.fill(script)) }
}

// fill replaces placeholders in a text by paths and addresses of the platform.
func (f *field) fill(text string) string {
	return strings.NewReplacer(
		"{HOME}", f.home.Dir(), "{ENGINEER}", f.home.EngineerCredentials(), "{ADMIN}", f.home.AdminKubeconfig(),
		"{LOGINS}", f.home.GitCredentials(), "{STATE}", f.home.TenantState("team-web"), "{GIT}", f.home.Git(),
		"{GOOGLE}", f.home.Google(), "{SOCKET}", f.home.Socket(), "{BAIT}", f.bait.url(), "{BAITPORT}", f.bait.port(), "{BAITPATH}", f.bait.path(),
	).Replace(text)
}

// within returns an error if something took longer than allowed during an attack.
func within(took, most time.Duration, what string) error {
	if took > most {
		return fmt.Errorf("%s took %s, more than the limit of %s", what, took.Round(time.Second), most)
	}
	return nil
}
