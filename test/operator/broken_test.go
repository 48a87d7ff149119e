package operator_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/rogpeppe/go-internal/txtar"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/long"
)

// settleTimeout limits the time until a status is complete after a failure.
const settleTimeout = 5 * time.Second

var update = flag.Bool("update", false, "write the texts of the statuses into testdata")

// The minimal content of a Program and a Stack in these tests.
const (
	plainProgram = "{outputs: {a: 1}}"
	plainStack   = `
stack: dev
backend: file://STATE
programRef: {name: shop}
serviceAccountName: web
envRefs: {PULUMI_CONFIG_PASSPHRASE: {type: Secret, secret: {name: context, key: passphrase}}}
`
)

// brokenCase is one folder of a file in testdata/broken.
type brokenCase struct {
	// program is the body of the Program. stack is the part of the Stack's spec that differs from plainStack.
	program, stack string

	// before is a spec that is applied and becomes Ready before the failure; empty means none.
	before string

	// state and lock are then written into the backend: as the stack's checkpoint, and as a lock of the stack.
	state, lock string

	// status is the normalized text that a user reads.
	status string
}

// TestMessagesAboutBrokenManifests compares the messages about broken manifests with testdata/broken.
func TestMessagesAboutBrokenManifests(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	o := startOperator(t, c)
	files, err := filepath.Glob("testdata/broken/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, path := range files {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		names, cases := readCases(t, archive)
		total += len(names)
		var mu sync.Mutex
		got := map[string]string{} // the text that the user reads, by the name of the case
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			for _, name := range names {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					status := newTeam(t, c).tryBroken(t, o, cases[name])
					mu.Lock()
					defer mu.Unlock()
					got[name] = status
				})
			}
		})
		if *update && len(got) == len(names) {
			writeStatuses(t, path, archive, names, got)
		}
	}
	if total < 60 {
		t.Errorf("testdata has %d cases, want at least 60", total)
	}
}

func readCases(t *testing.T, archive *txtar.Archive) ([]string, map[string]brokenCase) {
	t.Helper()
	var names []string
	cases := map[string]brokenCase{}
	for _, file := range archive.Files {
		name, part, _ := strings.Cut(file.Name, "/")
		c, known := cases[name]
		if !known {
			names = append(names, name)
			c.program = plainProgram
		}
		content := string(file.Data)
		switch part {
		case "program":
			c.program = content
		case "stack":
			c.stack = content
		case "before":
			c.before = content
		case "state":
			c.state = content
		case "lock":
			c.lock = content
		case "status":
			c.status = content
		default:
			t.Fatalf("%s: it is program, stack, before, state, lock or status", file.Name)
		}
		cases[name] = c
	}
	return names, cases
}

func writeStatuses(t *testing.T, path string, archive *txtar.Archive, names []string, got map[string]string) {
	t.Helper()
	var files []txtar.File
	for _, name := range names {
		for _, file := range archive.Files {
			if strings.HasPrefix(file.Name, name+"/") && file.Name != name+"/status" {
				files = append(files, file)
			}
		}
		files = append(files, txtar.File{Name: name + "/status", Data: []byte(got[name])})
	}
	archive.Files = files
	if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tryBroken creates the objects of a case and returns the text that a user reads.
func (tm *team) tryBroken(t *testing.T, o *operator, c brokenCase) string {
	t.Helper()
	tm.create(t, &corev1.ConfigMap{ObjectMeta: tm.meta("words"), Data: map[string]string{"a": "b {"}})
	if err := tm.applyStrictly(t, v1.ProgramKind, "shop", "program", tm.spec(t, "", c.program)); err != nil {
		return tm.refused(t, o, c.status, err)
	}
	if c.before != "" {
		if err := tm.applyStrictly(t, v1.StackKind, "broken", "spec", tm.spec(t, plainStack, c.before)); err != nil {
			t.Fatal(err)
		}
		tm.await(t, "broken", "Ready", ready)
	}
	pulumi := filepath.Join(tm.state, ".pulumi")
	tm.write(t, filepath.Join(pulumi, "stacks", "shop", "dev.json"), c.state)
	tm.write(t, filepath.Join(pulumi, "locks", "organization", "shop", "dev", "0.json"), c.lock)
	if c.stack == "" {
		// The same spec, changed so that it runs again.
		c.stack = c.before + "\nrefresh: true"
	}
	if err := tm.applyStrictly(t, v1.StackKind, "broken", "spec", tm.spec(t, plainStack, c.stack)); err != nil {
		return tm.refused(t, o, c.status, err)
	}
	tm.await(t, "broken", "tried", tried)
	// The result of a run reaches the Program after the Stack.
	got := ""
	_ = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, settleTimeout, true, func(context.Context) (bool, error) {
		got = tm.status(t, o)
		return got == c.status, nil
	})
	compare(t, got, c.status)
	return got
}

// refused returns the text that a user reads about a manifest that the API server rejects.
func (tm *team) refused(t *testing.T, o *operator, want string, err error) string {
	t.Helper()
	got := tm.normal(o, fmt.Sprintf("refused: %v\n", err))
	compare(t, got, want)
	return got
}

func compare(t *testing.T, got, want string) {
	t.Helper()
	if got != want && !*update {
		t.Errorf("the user reads\n%swant\n%s", got, want)
	}
}

// status returns the text that a user reads about the Stack and, if it is not Ready, about the Program.
func (tm *team) status(t *testing.T, o *operator) string {
	t.Helper()
	stack, program := &v1.Stack{}, &v1.Program{}
	if err := tm.Get(t.Context(), client.ObjectKey{Namespace: tm.namespace, Name: "broken"}, stack); err != nil {
		t.Fatal(err)
	}
	if err := tm.Get(t.Context(), client.ObjectKey{Namespace: tm.namespace, Name: "shop"}, program); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	line := func(kind, what, message string) {
		checkMessage(t, o, message)
		fmt.Fprintf(&text, "%s %s: %s\n", kind, what, message)
	}
	conditions := func(kind string, all []metav1.Condition) {
		for _, c := range all {
			if c.Type != v1.ReadyCondition {
				line(kind, c.Type+" "+c.Reason, c.Message)
			}
		}
	}
	stalled := meta.FindStatusCondition(stack.Status.Conditions, v1.StalledCondition)
	switch last := stack.Status.LastUpdate; {
	case ready(stack):
		fmt.Fprintln(&text, "Stack Ready")
	case last != nil && last.State == v1.FailedStackStateMessage && (stalled == nil || stalled.Reason == v1.StalledUpdateFailedReason):
		// The number of retries does not matter.
		line(v1.StackKind, string(last.Type)+" failed", last.Message)
	default:
		conditions(v1.StackKind, stack.Status.Conditions)
	}
	conditions(v1.ProgramKind, program.Status.Conditions)
	return tm.normal(o, text.String())
}

// checkMessage checks the rules for all messages.
func checkMessage(t *testing.T, o *operator, message string) {
	t.Helper()
	for name, bad := range map[string]bool{
		"has several lines":             strings.ContainsAny(message, "\n\r\t\x1b"),
		"is longer than 1000":           len(message) > 1010,
		"begins like a log line":        strings.HasPrefix(message, "error:"),
		"names the folder of the run":   strings.Contains(message, o.work),
		"contains a secret":             strings.Contains(message, "canary"),
		"contains the trace of a panic": strings.Contains(message, "goroutine "),
		"is empty":                      strings.TrimSpace(message) == "",
	} {
		if bad {
			t.Errorf("the message %s: %q", name, message)
		}
	}
}

var (
	suffix  = regexp.MustCompile(`\b(settings|one|two|other)-[0-9a-f]{8}\b`)
	version = regexp.MustCompile(`resourceVersion "\d+"`)
)

// normal replaces the parts of a text that differ from one run to the next.
func (tm *team) normal(o *operator, text string) string {
	text = strings.NewReplacer(
		tm.state, "STATE", tm.namespace, "NAMESPACE", tm.config.Host, "https://CLUSTER", o.work, "WORK", tm.tools, "TOOLS", tm.cluster.state, "ROOT",
	).Replace(text)
	return version.ReplaceAllString(suffix.ReplaceAllString(text, "$1-SUFFIX"), "resourceVersion")
}

// spec decodes a spec and merges the fields of another one into it; null removes a field.
func (tm *team) spec(t *testing.T, plain, more string) map[string]any {
	t.Helper()
	spec := map[string]any{}
	for _, text := range []string{plain, more} {
		fields := map[string]any{}
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(text, "STATE", tm.state)), &fields); err != nil {
			t.Fatalf("%v:\n%s", err, text)
		}
		maps.Copy(spec, fields)
	}
	maps.DeleteFunc(spec, func(_ string, value any) bool { return value == nil })
	return spec
}

// applyStrictly applies an object like kubectl: the API server rejects unknown fields.
func (tm *team) applyStrictly(t *testing.T, kind, name, field string, spec map[string]any) error {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1.GroupVersion.String(), "kind": kind,
		"metadata": map[string]any{"namespace": tm.namespace, "name": name}, field: spec,
	}}
	existing := object.DeepCopy()
	switch err := tm.Get(t.Context(), client.ObjectKeyFromObject(object), existing); {
	case client.IgnoreNotFound(err) != nil:
		return err
	case err != nil:
		return tm.Create(t.Context(), object, client.FieldValidation("Strict"))
	}
	object.SetFinalizers(existing.GetFinalizers())
	object.SetResourceVersion(existing.GetResourceVersion())
	return tm.Update(t.Context(), object, client.FieldValidation("Strict"))
}

// write writes a file, unless the content is empty.
func (tm *team) write(t *testing.T, path, content string) {
	t.Helper()
	if content == "" {
		return
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bytes.TrimSpace([]byte(content)), 0o600); err != nil {
		t.Fatal(err)
	}
}
