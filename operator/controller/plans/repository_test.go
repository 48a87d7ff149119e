package plans_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/operator/controller/plans"
	"github.com/strata-platform/strata/operator/controller/plans/repository"
	"github.com/strata-platform/strata/operator/plan"
	"github.com/strata-platform/strata/operator/source/sourcetest"
	"github.com/strata-platform/strata/test/long"
)

const gitRepositories = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gitrepositories.source.toolkit.fluxcd.io}
spec:
  group: source.toolkit.fluxcd.io
  scope: Namespaced
  names: {kind: GitRepository, plural: gitrepositories}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// siteProject is a project in a repository.
func siteProject(namespace, kind, value string) string {
	return fmt.Sprintf("name: site\nruntime: yaml\nresources:\n  settings: {type: \"kubernetes:core/v1:%s\", properties: {metadata: {name: settings, namespace: %s}, %s}}\n", kind, namespace, value)
}

// TestThePlanOfACommitRunsItsFolder plans commits that change the folder of a project, and not the Stack that names the folder, with the
// real engine and a Git server that asks for the password of Flux.
func TestThePlanOfACommitRunsItsFolder(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	git := sourcetest.New(t, "flux", "canary-flux")
	git.Commit(t, "README.md", "a site")
	tm := newTeamIn(t, c, "folders", "file://"+c.backends+"/team-folders", func(args *hop.HopArgs) { args.Source.URL = pulumi.String(git.URL) })
	kind := &unstructured.Unstructured{}
	if err := json.Unmarshal(toJSON(t, gitRepositories), kind); err != nil {
		t.Fatal(err)
	}
	c.create(t, kind)
	c.create(t, tm.parse(t, "{apiVersion: v1, kind: Secret, metadata: {name: flux}, stringData: {username: flux, password: canary-flux}}"))
	eventually(t, "GitRepositories are served", func() error {
		return c.Create(t.Context(), tm.parse(t, fmt.Sprintf("{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, metadata: {name: folders}, spec: {url: %q, ref: {branch: main}, secretRef: {name: flux}}}", git.URL)))
	})
	e := realEngine(t, c)
	tm.start(t, e, func(o *plans.Options) { o.Repositories = repository.New(o.Client, e.Folders) })

	stack := "apiVersion: pulumi.com/v1\nkind: Stack\nmetadata: {name: site}\nspec: {stack: site, fluxSource: {sourceRef: {apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, name: folders}, dir: infra}}\n"
	tm.apply(t, stack)
	const configMap = "ConfigMap"
	for name, tc := range map[string]struct{ files, phase, want string }{
		"a-folder":      {siteProject(tm.namespace, configMap, "data: {a: b}"), plan.Ready, `"changes":{"create":1}`},
		"another-type":  {siteProject(tm.namespace, "Namespace", "kind: Namespace"), plan.Failed, "kubernetes:core/v1:Namespace"},
		"no-project":    {"", plan.Failed, "it has no Pulumi.yaml in its folder infra"},
		"its-history":   {siteProject(tm.namespace, configMap, "data: {a: {fn::readFile: ../.git/config}}"), plan.Ready, `"unseen":true`},
		"the-operators": {siteProject(tm.namespace, configMap, "data: {a: {fn::readFile: /proc/self/environ}}"), "", ""},
	} {
		file := "infra/Pulumi.yaml"
		if tc.files == "" {
			file = "infra/other"
		}
		commit := git.Commit(t, file, tc.files)
		tm.plan(t, name, plan.Spec{Commit: commit, Manifests: stack})
		tm.expect(t, name, tc.phase, tc.want)
		git.Git(t, "rm", "-r", "-q", "infra")
		git.Git(t, "commit", "-q", "-m", "undo")
	}
	tm.plan(t, "unknown", plan.Spec{Commit: strings.Repeat("ab", 20), Manifests: stack})
	status := tm.complete(t, "unknown").Status
	if s := status.Stacks[0]; status.Phase != plan.Ready || !s.Unseen || !strings.Contains(s.Message, repository.ErrFetch.Error()) {
		t.Errorf("the Plan of a commit that the server does not have is %+v", status)
	}
}

// TestAPlanSendsCredentialsWhereRunsSendThem plans commits that name another repository for the credentials of a Stack.
func TestAPlanSendsCredentialsWhereRunsSendThem(t *testing.T) {
	long.Test(t)
	c := newCluster(t)
	var told atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, is := r.BasicAuth(); is {
			told.Add(1)
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(elsewhere.Close)
	git := sourcetest.New(t, "me", "canary-mine")
	commit := git.Commit(t, "Pulumi.yaml", siteProject("team-credentials", "ConfigMap", "data: {a: b}"))
	tm := newTeamIn(t, c, "credentials", "file://"+c.backends+"/team-credentials", func(args *hop.HopArgs) {
		args.Source.URL = pulumi.String(git.URL)
		args.Policy.Sources = pulumi.StringArray{pulumi.String(elsewhere.URL)}
	})
	for _, name := range []string{"git", "other"} {
		c.create(t, tm.parse(t, "{apiVersion: v1, kind: Secret, metadata: {name: "+name+"}, stringData: {username: me, password: canary-mine}}"))
	}
	e := realEngine(t, c)
	tm.start(t, e, func(o *plans.Options) { o.Repositories = repository.New(o.Client, e.Folders) })
	stack := func(url, secret, more string) string {
		return fmt.Sprintf("apiVersion: pulumi.com/v1\nkind: Stack\nmetadata: {name: site}\nspec: {stack: site, projectRepo: %q, gitAuthSecret: %s, commit: %s%s}\n", url, secret, commit, more)
	}
	tm.apply(t, stack(git.URL, "git", ""))
	for name, tc := range map[string]struct{ manifests, phase, want string }{
		"same-repository": {stack(git.URL, "git", ", config: {a: b}"), plan.Ready, `"changes":{"create":1}`},
		"elsewhere":       {stack(elsewhere.URL, "git", ""), plan.Failed, "a plan sends credentials only where runs send them already"},
		"other-secret":    {stack(git.URL, "other", ""), plan.Failed, "a plan sends credentials only where runs send them already"},
		"a-new-stack":     {strings.Replace(stack(git.URL, "git", ""), "name: site}", "name: fresh}", 1), plan.Failed, "a plan sends credentials only where runs send them already"},
	} {
		tm.plan(t, name, plan.Spec{Manifests: tc.manifests})
		tm.expect(t, name, tc.phase, tc.want)
	}
	if n := told.Load(); n > 0 {
		t.Errorf("another server has got the credentials %d times", n)
	}
}

// expect waits for a Plan, and compares its phase and a part of its status, which must have no secret.
func (tm *team) expect(t *testing.T, name, phase, want string) {
	t.Helper()
	status, err := json.Marshal(tm.complete(t, name).Status)
	if err != nil {
		t.Fatal(err)
	}
	if phase != "" && !strings.Contains(string(status), fmt.Sprintf(`"phase":%q`, phase)) || !strings.Contains(string(status), want) {
		t.Errorf("%s: the Plan is %s\nwant %s with %q", name, status, phase, want)
	}
	if strings.Contains(string(status), "canary") {
		t.Errorf("%s: the Plan has a secret: %s", name, status)
	}
}

func toJSON(t *testing.T, text string) []byte {
	t.Helper()
	content, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
