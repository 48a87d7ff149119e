package plans_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/identity"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/workdir"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/test/long"
)

// realEngine returns an engine whose plans reach the API server only, as the operator's.
func realEngine(t *testing.T, c *cluster) *engine.Engine {
	t.Helper()
	if err := engine.CanConfine(); err != nil {
		t.Skip(err)
	}
	tools := t.TempDir()
	for _, name := range []string{"pulumi", "pulumi-language-yaml", "pulumi-resource-kubernetes"} {
		if err := os.Symlink(toolchaintest.Path(t, name), filepath.Join(tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "cat"} {
		if path, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(path, filepath.Join(tools, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	server, err := url.Parse(c.operator.Host)
	if err != nil || server.Host == "" {
		server = &url.URL{Host: c.operator.Host}
	}
	return &engine.Engine{
		Folders: &workdir.Folders{Parent: t.TempDir()}, Env: []string{"PATH=" + tools, "HOST_CANARY=canary-engine"}, PlanEndpoints: []string{server.Host},
	}
}

const shopProgram = `apiVersion: pulumi.com/v1
kind: Program
metadata: {name: shop}
program:
  configuration: {token: {type: String}}
  resources:
    settings: {type: "kubernetes:core/v1:ConfigMap", properties: {metadata: {name: settings, namespace: NAMESPACE}, data: {value: one}}}
    login: {type: "kubernetes:core/v1:Secret", properties: {metadata: {name: login, namespace: NAMESPACE}, stringData: {token: "${token}"}}}
  outputs: {token: "${token}"}
`

const shopStack = `apiVersion: pulumi.com/v1
kind: Stack
metadata: {name: shop}
spec: {programRef: {name: shop}, secretsRef: {token: {type: Secret, secret: {name: mine, key: token}}}}
`

// up applies the Stack shop as the operator would, with a secret in its state.
func (tm *team) up(t *testing.T, e *engine.Engine, direct client.Client) {
	t.Helper()
	tm.apply(t, fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: mine}\nstringData: {token: %s}", secretCanary))
	text := strings.ReplaceAll(shopProgram, "NAMESPACE", tm.namespace)
	tm.apply(t, manifests(text, shopStack))
	s := &v1.Stack{}
	if err := tm.Get(t.Context(), types.NamespacedName{Namespace: tm.namespace, Name: "shop"}, s); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(tm.backends, tm.namespace)
	_, body, _ := strings.Cut(text, "program:\n")
	req := engine.Request{
		Operation: engine.Up, Project: "shop", Stack: "shop", Program: []byte("name: shop\nruntime: yaml\n" + strings.ReplaceAll(body, "\n  ", "\n")[2:]),
		Backend: "file://" + folder, BackendFolder: folder, Env: map[string]string{"PULUMI_CONFIG_PASSPHRASE": passphraseCanary},
		SecretConfig: map[string]string{"token": secretCanary},
	}
	if _, err := identity.Set(t.Context(), direct, tm.operator, s, nil, &req); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(t.Context(), req); err != nil {
		t.Fatalf("apply the Stack: %v", err)
	}
	s.Status.ProjectInfo = &v1.ProjectInfo{Name: "shop", Stack: "shop", Backend: "file://" + folder}
	if err := tm.Status().Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

// TestACommitThatNobodyHasReviewedFindsNothing plans commits that look for secrets and try to write, with the real engine.
func TestACommitThatNobodyHasReviewedFindsNothing(t *testing.T) {
	long.Test(t)
	tm := newTeam(t, newCluster(t), "attack")
	e := realEngine(t, tm.cluster)
	direct, err := client.New(tm.operator, client.Options{Scheme: tm.scheme})
	if err != nil {
		t.Fatal(err)
	}
	tm.up(t, e, direct)
	folder := filepath.Join(tm.backends, tm.namespace)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var calls atomic.Int32
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			calls.Add(1)
			_ = connection.Close()
		}
	}()
	before := tm.versions(t)
	tm.start(t, e, withIdentity("http://"+listener.Addr().String()))
	value := func(text string) string {
		return strings.ReplaceAll(strings.Replace(shopProgram, "data: {value: one}", "data: "+text, 1), "NAMESPACE", tm.namespace)
	}
	read := func(file string) string {
		return value(fmt.Sprintf("{value: {fn::toBase64: {fn::readFile: %q}}}", file))
	}
	exec := fmt.Sprintf(`, config: {"kubernetes:kubeconfig": %q}`, fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a,
contexts: [{name: a, context: {cluster: a, user: a}}], clusters: [{name: a, cluster: {server: "http://%s"}}],
users: [{name: a, user: {exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh, args: [-c, "cat /proc/*/environ %s/.pulumi/stacks/*/* >&2; exit 1"]}}}]}`, listener.Addr(), folder))
	hostile := strings.Replace(shopStack, "secretsRef:", strings.TrimPrefix(exec, ", ")+", secretsRef:", 1)
	// The address of look-ups serves instances only, and not the requests of Kubernetes' provider.
	lookups := fmt.Sprintf(`config: {"kubernetes:kubeconfig": %q}`, `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}],
clusters: [{name: a, cluster: {server: "http://lookups.strata.internal:8080"}}]}`)
	for name, c := range map[string]struct {
		manifests, phase, want string
	}{
		"a-change":        {manifests(value("{value: two}"), shopStack), plan.Ready, `"before":"\"one\"","after":"\"two\""`},
		"own-files":       {manifests(value(`{value: {fn::readFile: ./Pulumi.yaml}}`), shopStack), plan.Ready, "configuration:"},
		"the-config":      {manifests(value(`{value: {fn::toBase64: "x ${token}"}}`), shopStack), plan.Ready, `"after":"[secret]"`},
		"environment":     {manifests(read("/proc/self/environ"), shopStack), "", ""},
		"the-operator":    {manifests(read(fmt.Sprintf("/proc/%d/environ", os.Getpid())), shopStack), plan.Failed, ""},
		"the-state":       {manifests(read(folder+"/.pulumi/stacks/shop/shop.json"), shopStack), plan.Failed, ""},
		"a-secret":        {manifests(lookUp("Secret", tm.namespace+"/strata-context", "data"), shopStack), plan.Failed, ended},
		"its-secret":      {manifests(lookUp("Secret", tm.namespace+"/mine", "data"), shopStack), plan.Failed, ended},
		"another-team":    {manifests(lookUp("ConfigMap", "kube-system/any", "data"), shopStack), plan.Failed, ended},
		"a-new-object":    {manifests(strings.ReplaceAll(value("{value: two}"), "name: settings,", "name: written,"), shopStack), plan.Ready, `"op":"replace"`},
		"a-command":       {manifests(value("{value: two}"), hostile), "", ""},
		"as-the-operator": {manifests(value("{value: two}"), strings.Replace(shopStack, "secretsRef:", lookups+", secretsRef:", 1)), "", ""},
		"a-new-stack":     {manifests(program("fresh", "1"), stack("fresh", ", secretsRef: {token: {type: Secret, secret: {name: mine, key: token}}}")), plan.Ready, `"op":"create"`},
		"anothers-state":  {manifests(value("{value: two}"), strings.Replace(shopStack, "name: shop}\nspec: {", "name: thief}\nspec: {stack: shop, ", 1)), plan.Failed, "Stack shop holds"},
	} {
		tm.plan(t, name, plan.Spec{Manifests: c.manifests})
		got := tm.complete(t, name)
		status, err := json.Marshal(got.Status)
		if err != nil {
			t.Fatal(err)
		}
		if c.phase != "" && got.Status.Phase != c.phase || !strings.Contains(string(status), c.want) {
			t.Errorf("%s: the Plan is %s\nwant %s with %q", name, status, c.phase, c.want)
		}
		for _, canary := range []string{"canary", "Y2FuYXJ5", "NhbmFye", "jYW5hcn"} { // as it is, and in Base64 at each offset
			if strings.Contains(string(status), canary) {
				t.Errorf("%s: the Plan has a secret: %s", name, status)
			}
		}
	}
	if n := calls.Load(); n > 0 {
		t.Errorf("%d calls reached an address besides the API server", n)
	}
	if after := tm.versions(t); !slices.Equal(before, after) {
		t.Errorf("the plans have changed objects:\n%q\nwant\n%q", after, before)
	}
	if err := tm.Get(t.Context(), types.NamespacedName{Namespace: tm.namespace, Name: "written"}, &corev1.ConfigMap{}); err == nil {
		t.Error("a plan has written a ConfigMap")
	}

	// The same Program as an update would find the Secret: the attack itself works.
	t.Run("deleted", func(t *testing.T) {
		tm.plan(t, "deletes", plan.Spec{Sync: "sync", Manifests: "# nothing"})
		got := tm.complete(t, "deletes").Status
		if got.Phase != plan.Ready || len(got.Stacks) != 1 || !got.Stacks[0].Removed || got.Stacks[0].Changes["delete"] < 2 || got.Stacks[0].State == "" {
			t.Errorf("the deletion is %+v", got)
		}
	})
}

// ended is in the message of a get: Pulumi's Kubernetes plugin of this toolchain ends, even if the account may read the object. So these
// cases show that a get reveals nothing; that the account may not read Secrets is for platform's TestEachAccountHasOnlyTheRightsThatItNeeds.
const ended = "check that each resource with get exists"

// lookUp returns a Program that copies a field of an existing object into its ConfigMap.
func lookUp(kind, id, field string) string {
	return fmt.Sprintf(`apiVersion: pulumi.com/v1
kind: Program
metadata: {name: shop}
program:
  configuration: {token: {type: String}}
  resources:
    found: {type: "kubernetes:core/v1:%s", get: {id: %s}}
    settings: {type: "kubernetes:core/v1:ConfigMap", properties: {metadata: {name: settings, namespace: %s}, data: {value: {fn::toJSON: "${found.%s}"}}}}
`, kind, id, strings.Split(id, "/")[0], field)
}
