package plans_test

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/operator/controller/plans"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/events"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/test/long"
)

// forge is a server with the APIs of GitHub, GitLab and Gitea for statuses of commits. It forgets nothing.
type forge struct {
	*httptest.Server
	mu       sync.Mutex
	statuses []string
}

// paths are what each API calls things: its prefix, the repository, the header of the token, and the name of a status.
var paths = map[string]struct{ prefix, repository, header, token, name string }{
	"github": {"/api/v3", "/repos/example/web", "Authorization", "Bearer canary-github", "context"},
	"gitlab": {"/api/v4", "/projects/example%2Fweb", "Private-Token", "canary-gitlab", "name"},
	"gitea":  {"/api/v1", "/repos/example/web", "Authorization", "token canary-gitea", "context"},
}

func newForge(t *testing.T) *forge {
	f := &forge{}
	f.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for kind, api := range paths {
			rest, is := strings.CutPrefix(r.URL.EscapedPath(), api.prefix)
			if !is {
				continue
			}
			if rest == "/version" {
				fmt.Fprint(w, `{"version": "1.24.0"}`)
				return
			}
			if got := r.Header.Get(api.header); got != api.token {
				t.Errorf("%s %s: the token is %q", kind, rest, got)
			}
			if r.Method != http.MethodPost {
				fmt.Fprint(w, "[]")
				return
			}
			commit, is := strings.CutPrefix(rest, api.repository+"/statuses/")
			sent := map[string]any{}
			if err := json.NewDecoder(r.Body).Decode(&sent); err != nil || !is {
				t.Errorf("%s %s: %v", kind, rest, err)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			f.statuses = append(f.statuses, fmt.Sprintf("%s %s %v: %v: %v", kind, commit, sent[api.name], sent["state"], sent["description"]))
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, "{}")
			return
		}
		t.Errorf("%s %s: no API has this path", r.Method, r.URL)
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(f.Close)
	return f
}

// got returns the statuses so far.
func (f *forge) got() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(slices.Values(f.statuses))
}

// flux creates Flux's kinds and its namespace.
func (c *cluster) flux(t *testing.T) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(toolchaintest.Path(t, "flux-manifests"), "notification-controller.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "flux-system"}})
	for document := range strings.SplitSeq(string(content), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), object); err != nil {
			t.Fatal(err)
		}
		if object.GetKind() == "CustomResourceDefinition" {
			c.create(t, object)
		}
	}
}

// address returns an address of this machine that nothing listens at.
func address(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// notify runs notification-controller, as layer 2 configures it, until the test ends. It trusts the forge.
func (c *cluster) notify(t *testing.T, at string, f *forge) {
	t.Helper()
	user, err := c.env.AddUser(envtest.User{Name: "notification-controller", Groups: []string{"system:masters"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	trusted := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
	for name, content := range map[string][]byte{"kubeconfig": kubeconfig, "ca.pem": trusted} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	logs := &buffer{}
	controller := exec.Command(toolchaintest.Path(t, "notification-controller"), "--events-addr="+at, "--receiverAddr="+address(t),
		"--health-addr="+address(t), "--metrics-addr=0", "--enable-leader-election=false", "--no-cross-namespace-refs=true")
	controller.Env = []string{"KUBECONFIG=" + filepath.Join(dir, "kubeconfig"), "RUNTIME_NAMESPACE=flux-system", "SSL_CERT_FILE=" + filepath.Join(dir, "ca.pem")}
	controller.Stdout, controller.Stderr = logs, logs
	if err := controller.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = controller.Process.Signal(syscall.SIGTERM)
		_ = controller.Wait()
		if log := logs.String(); t.Failed() {
			t.Logf("the log of notification-controller:\n%s", log)
		} else if strings.Contains(log, "canary") {
			t.Error("the log of notification-controller has a token")
		}
	})
}

// report creates a Plan as the administrator, as the Git server does.
func (tm *team) report(t *testing.T, name string, spec plan.Spec) error {
	t.Helper()
	p := &plan.Plan{Spec: spec}
	p.Namespace, p.Name, p.Spec.Report = tm.namespace, name, true
	p.Spec.Account = strings.TrimPrefix(tm.namespace, "team-")
	object, err := p.Object()
	if err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	return tm.Create(t.Context(), object)
}

// TestResultsArePutOnCommits plans commits of teams with different forges, and runs the real notification-controller against a server
// that has the APIs of all.
func TestResultsArePutOnCommits(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	c.flux(t)
	f := newForge(t)
	notified := func(name, kind string) *team {
		return newTeamIn(t, c, name, "file://"+filepath.Join(c.backends, "team-"+name), func(a *hop.HopArgs) {
			a.Accounts = []hop.Account{{Name: "infra", Roles: []string{platform.RoleTeamStacks}}}
			a.Notify = &hop.Notify{
				Provider: kind, Repository: pulumi.String(f.URL + "/example/web"), Token: pulumi.String("canary-" + kind), Status: "strata/plan/dev/" + name,
			}
		})
	}
	// The teams hub and twin have the same repository.
	hub, twin, lab, tea := notified("hub", "github"), notified("twin", "github"), notified("lab", "gitlab"), notified("tea", "gitea")
	quiet := newTeam(t, c, "quiet")
	server := address(t)
	told := func(o *plans.Options) { o.Events = "http://" + server + "/" }
	r := &runner{run: func(_ context.Context, req engine.Request) (*engine.Result, error) {
		if req.Stack == "broken" {
			return nil, fmt.Errorf("canary: the program is broken")
		}
		return &engine.Result{Plan: &events.Plan{Changes: map[string]int{"create": 2, "replace": 1}, Steps: []events.PlannedStep{
			{Op: "replace", Name: "db", Type: "gcp:sql/database:Database"},
		}}}, nil
	}}
	const first, second, claimed = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222", "3333333333333333333333333333333333333333"
	good := manifests(program("shop", "1"), stack("shop", ""))
	bad := manifests(good, program("broken", "1"), stack("broken", ""))
	create := func(tm *team, name, sync, commit, text string) {
		if err := tm.report(t, name, plan.Spec{Branch: "new", Sync: sync, Commit: commit, Manifests: text}); err != nil {
			t.Fatal(err)
		}
	}
	create(hub, "first", "hub", first, good)
	create(hub, "infra", "infra", first, "")
	create(twin, "first", "twin", first, bad)
	create(lab, "first", "lab", first, good)
	create(lab, "second", "infra", second, bad)
	create(tea, "first", "tea", first, good)
	create(tea, "second", "infra", second, bad)
	create(hub, "foreign", "lab", claimed, good)
	create(quiet, "first", "quiet", claimed, good)
	// An author claims that harmless manifests are another commit, and asks for its status.
	lie := plan.Spec{Branch: "lie", Sync: "hub", Commit: claimed, Account: "hub", Manifests: good}
	asked := &plan.Plan{Spec: lie}
	asked.Namespace, asked.Name, asked.Spec.Report = hub.namespace, "asked", true
	object, err := asked.Object()
	if err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(object.Object, "status")
	if err := hub.as(t, "hub").Create(t.Context(), object); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "spec.report puts the result on commit "+claimed) {
		t.Errorf("the team reports a Plan of its own: %v", err)
	}
	hub.plan(t, "claimed", lie)
	t.Run("without Flux, every Plan completes", func(t *testing.T) {
		c.start(t, r, told)
		for tm, names := range map[*team][]string{hub: {"first", "infra", "foreign", "claimed"}, twin: {"first"}, lab: {"first", "second"}, tea: {"first", "second"}, quiet: {"first"}} {
			for _, name := range names {
				if p := tm.complete(t, name); p.Status.Reported != nil {
					t.Errorf("Plan %s of %s is reported to nobody", name, tm.namespace)
				}
			}
		}
	})
	c.notify(t, server, f)
	const lost, failed = "success: loses data of 1 and needs approval : creates 2 replaces 1", "plan failed for 1 of 2 stacks"
	want := []string{
		"gitea " + first + " strata/plan/dev/tea: " + lost,
		"gitea " + second + " strata/plan/dev/tea/infra: failure: " + failed,
		"github " + first + " strata/plan/dev/hub/infra: success: changes nothing",
		"github " + first + " strata/plan/dev/hub: " + lost,
		"github " + first + " strata/plan/dev/twin: failure: " + failed,
		"gitlab " + first + " strata/plan/dev/lab: " + lost,
		"gitlab " + second + " strata/plan/dev/lab/infra: failed: " + failed,
	}
	slices.Sort(want)
	arrived := func() error {
		if got := f.got(); !slices.Equal(got, want) {
			return fmt.Errorf("the statuses are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		return nil
	}
	t.Run("the next operator says what the one before it has not said", func(t *testing.T) {
		c.start(t, r, told)
		eventually(t, "the statuses are on the commits", arrived)
		for tm, names := range map[*team][]string{hub: {"first", "infra"}, twin: {"first"}, lab: {"first", "second"}, tea: {"first", "second"}} {
			for _, name := range names {
				eventually(t, "the Plan says so", func() error {
					if tm.get(t, name).Status.Reported == nil {
						return fmt.Errorf("Plan %s of %s does not", name, tm.namespace)
					}
					return nil
				})
			}
		}
		for tm, name := range map[*team]string{hub: "claimed", quiet: "first"} {
			if tm.get(t, name).Status.Reported != nil {
				t.Errorf("the Plan %s of %s is reported", name, tm.namespace)
			}
		}
	})
	create(hub, "third", "hub", second, "")
	t.Run("the one after it repeats nothing", func(t *testing.T) {
		c.start(t, r, told)
		want = append(want, "github "+second+" strata/plan/dev/hub: success: changes nothing")
		slices.Sort(want)
		eventually(t, "the next status is on its commit", arrived)
	})
}
