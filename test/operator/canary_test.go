package operator_test

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/long"
)

// canaries are the secrets of these tests, one for each way in which a Stack receives secrets.
var canaries = []string{passphrase, "canary-operator", "canary-ref", "canary-env", "canary-literal"}

// secretStack runs a Program with secrets of every source.
const secretStack = `
  secretsRef: {password: {type: Secret, secret: {name: login, key: password}}}
`

func (tm *team) withSecrets(t *testing.T) {
	t.Helper()
	tm.create(t, &corev1.Secret{ObjectMeta: tm.meta("login"), StringData: map[string]string{
		"password": "canary-ref", "env": "canary-env",
	}})
}

func secretStackOf(name string) string {
	return strings.Replace(stackOf(name, name), "envRefs:\n", "envRefs:\n    TEAM_SECRET: {type: Secret, secret: {name: login, key: env}}\n", 1) + secretStack
}

func TestARunRevealsNoSecrets(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	o := startOperator(t, c)
	tm := newTeam(t, c)
	tm.withSecrets(t)
	tm.apply(t, &v1.Program{}, `
metadata: {name: vault}
program:
  configuration: {password: {type: String}}
  resources:
    login:
      type: kubernetes:core/v1:Secret
      properties: {stringData: {password: "${password}", literal: {"fn::secret": canary-literal}}}
    # The run waits for it until the test binds it.
    waiting:
      type: kubernetes:core/v1:PersistentVolumeClaim
      properties:
        metadata: {name: waiting}
        spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  outputs: {password: "${password}", all: {inner: ["${password}"]}}
`)
	tm.apply(t, &v1.Stack{}, secretStackOf("vault"))

	claim := &corev1.PersistentVolumeClaim{}
	eventually(t, "the run waits", func() error {
		return tm.Get(t.Context(), client.ObjectKey{Namespace: tm.namespace, Name: "waiting"}, claim)
	})
	token := tm.checkRunning(t, o)
	tm.checkObjects(t, token)
	claim.Status.Phase = corev1.ClaimBound
	if err := tm.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}

	got := tm.await(t, "vault", "Ready", ready)
	for _, name := range []string{"password", "all"} {
		if raw := string(got.Status.Outputs[name].Raw); raw != `"[secret]"` {
			t.Errorf("output %s is %s", name, raw)
		}
	}
	tm.checkObjects(t, token)
	checkText(t, "the operator's log", o.log.String(), token)
	eventually(t, "the folder of the run does not exist", func() error {
		if left := o.runs(t); len(left) > 0 {
			return fmt.Errorf("%v is left", left)
		}
		return nil
	})
	tm.checkFiles(t, tm.state, token)
}

func TestMessagesOfFailuresRevealNoSecrets(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	o := startOperator(t, c)
	for name, program := range map[string]string{
		"a list of that index":               `{configuration: {password: {type: String}}, outputs: {a: {"fn::select": ["${password}", [1]]}}}`,
		"an object that the cluster rejects": `{configuration: {password: {type: String}}, resources: {a: {type: "kubernetes:core/v1:ConfigMap", properties: {metadata: {name: "Not ${password}"}}}}}`,
		"a function that fails upon it":      `{configuration: {password: {type: String}}, outputs: {a: {"fn::fromBase64": "%${password}"}}}`,
		"a stack of that name":               `{configuration: {password: {type: String}}, resources: {a: {type: "pulumi:pulumi:StackReference", properties: {name: "organization/vault/${password}"}}}}`,
		"a literal in a rejected object":     `{configuration: {password: {type: String}}, resources: {a: {type: "kubernetes:core/v1:ConfigMap", properties: {metadata: {name: {"fn::secret": "Not canary-literal"}}}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tm := newTeam(t, c)
			tm.withSecrets(t)
			tm.apply(t, &v1.Program{}, "metadata: {name: vault}\nprogram: "+program)
			tm.apply(t, &v1.Stack{}, secretStackOf("vault"))
			got := tm.await(t, "vault", "failed", func(s *v1.Stack) bool {
				return ready(s) || s.Status.CurrentUpdate == nil && s.Status.LastUpdate != nil
			})
			if ready(got) {
				t.Fatal("the Stack is Ready")
			}
			tm.checkObjects(t)
			checkText(t, "the Stack", fmt.Sprint(got.Status))
			checkText(t, "the operator's log", o.log.String())
		})
	}
}

// checkRunning checks the processes and the folder of the only current run. It returns the run's token.
func (tm *team) checkRunning(t *testing.T, o *operator) string {
	t.Helper()
	runs := o.runs(t)
	if len(runs) != 1 {
		t.Fatalf("the runs are %v", runs)
	}
	folder := runs[0]
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the run has mode %v, %v", info.Mode(), err)
	}
	config, err := clientcmd.LoadFromFile(filepath.Join(folder, "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	token := ""
	for _, user := range config.AuthInfos {
		token = user.Token
		if user.TokenFile != "" {
			content, err := os.ReadFile(filepath.Join(folder, filepath.Base(user.TokenFile)))
			if err != nil {
				t.Fatal(err)
			}
			token = strings.TrimSpace(string(content))
		}
	}
	if token == "" {
		t.Fatal("the run has no token")
	}
	processes := o.children()
	for _, p := range processes {
		checkText(t, "a process's arguments", p.line, token)
	}
	if !slices.ContainsFunc(processes, func(p process) bool { return strings.Contains(p.line, "pulumi") }) {
		t.Fatalf("the processes %v do not contain pulumi", processes)
	}
	tm.checkFiles(t, folder)
	return token
}

// checkFiles looks for secrets in all files below a folder.
func (tm *team) checkFiles(t *testing.T, folder string, more ...string) {
	t.Helper()
	count := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		// The operator may remove files of a run at any time.
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if entry == nil || !entry.Type().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(path)
		if err == nil {
			count++
			text := string(content)
			if filepath.Base(path) == "Pulumi.yaml" {
				// A literal of the Program is visible in the Program.
				text = strings.ReplaceAll(text, "canary-literal", "")
			}
			checkText(t, path, text, more...)
		}
		return nil
	})
	if err != nil || count == 0 {
		t.Fatalf("read %d files of %s: %v", count, folder, err)
	}
}

// checkObjects looks for secrets in all objects that a reader of the team's Stacks can read.
func (tm *team) checkObjects(t *testing.T, more ...string) {
	t.Helper()
	for _, list := range []client.ObjectList{&v1.StackList{}, &corev1.EventList{}, &eventsv1.EventList{}} {
		if err := tm.List(t.Context(), list, client.InNamespace(tm.namespace)); err != nil {
			t.Fatal(err)
		}
		content, err := yaml.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		checkText(t, fmt.Sprintf("a %T", list), string(content), more...)
	}
	var programs v1.ProgramList
	if err := tm.List(t.Context(), &programs, client.InNamespace(tm.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, program := range programs.Items {
		content, err := json.Marshal(program.Status)
		if err != nil {
			t.Fatal(err)
		}
		checkText(t, "the status of a Program", string(content), more...)
	}
}

// checkText looks for secrets in a text, plain or in the encoding of Kubernetes.
func checkText(t *testing.T, what, text string, more ...string) {
	t.Helper()
	for _, secret := range slices.Concat(canaries, more) {
		for _, form := range []string{secret, base64.StdEncoding.EncodeToString([]byte(secret))} {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("%s contains a secret: ...%s...", what, text[max(0, i-200):min(len(text), i+len(form)+50)])
			}
		}
	}
}
