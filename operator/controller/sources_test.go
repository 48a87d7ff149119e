package controller_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/source/sourcetest"
)

// projectFile returns a project whose output is version.
func projectFile(version string) string {
	return "name: site\nruntime: yaml\noutputs: {version: " + version + "}\n"
}

const sourceEnv = `
  stack: dev
  serviceAccountName: web
  envRefs:
    PULUMI_BACKEND_URL: {type: Secret, secret: {name: context, key: backend}}
    PULUMI_CONFIG_PASSPHRASE: {type: Secret, secret: {name: context, key: passphrase}}
`

// archive returns an archive with one file.
func archive(t *testing.T, name, content string) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	files := tar.NewWriter(compressed)
	for _, err := range []error{
		files.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(content)), Typeflag: tar.TypeReg}),
		func() error { _, err := files.Write([]byte(content)); return err }(),
		files.Close(), compressed.Close(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

// installKind installs a CRD without a schema, for a kind that is not the operator's own.
func (c *cluster) installKind(t *testing.T, group, kind, plural string) {
	t.Helper()
	anything := true
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: plural, Singular: strings.ToLower(kind), Kind: kind, ListKind: kind + "List",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &anything,
				}},
			}},
		},
	}
	options := envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}
	if _, err := envtest.InstallCRDs(c.Config, options); err != nil {
		t.Fatal(err)
	}
	// The tests share an API server, and the presence of the kind changes what a team may declare.
	t.Cleanup(func() {
		if err := envtest.UninstallCRDs(c.Config, options); err != nil {
			t.Error(err)
		}
		// A CRD cannot be created again while it is terminating.
		object := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}}
		err := wait.PollUntilContextTimeout(context.Background(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			err := c.Get(ctx, client.ObjectKeyFromObject(crd), object)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
		if err != nil {
			t.Errorf("wait until %s is gone: %v", crd.Name, err)
		}
	})
}

func TestFluxArtifactIsRunAndFollowed(t *testing.T) {
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	content := map[string][]byte{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, err := w.Write(content[req.URL.Path]); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	tm.apply(t, &v1.Stack{}, "metadata: {name: site}\nspec:"+sourceEnv+`
  fluxSource:
    sourceRef: {apiVersion: source.toolkit.fluxcd.io/v1, kind: Bucket, name: site}
    dir: infra/
`)
	stalled := func(message string) {
		t.Helper()
		got := tm.await(t, "site", "stalled: "+message, func(s *v1.Stack) bool {
			c := condition(s, v1.StalledCondition)
			return c.Reason == v1.StalledSourceUnavailableReason && strings.Contains(c.Message, message)
		})
		checkKstatus(t, got, "Failed")
	}
	stalled("no kind Bucket of source.toolkit.fluxcd.io/v1")

	// Flux is installed after the Stack is created.
	c.installKind(t, "source.toolkit.fluxcd.io", "Bucket", "buckets")
	bucket := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
		"conditions": []any{map[string]any{"type": "Ready", "status": "False", "message": "no such bucket"}},
	}}}
	bucket.SetAPIVersion("source.toolkit.fluxcd.io/v1")
	bucket.SetKind("Bucket")
	bucket.SetNamespace(tm.namespace)
	bucket.SetName("site")
	c.create(t, bucket)
	stalled("has no artifact yet: no such bucket")

	for _, version := range []string{"one", "two"} {
		data := archive(t, "infra/Pulumi.yaml", projectFile(version))
		content["/"+version] = data
		bucket.Object["status"] = map[string]any{"artifact": map[string]any{
			"url": server.URL + "/" + version, "path": version, "revision": "main@" + version, "lastUpdateTime": "2026-01-02T03:04:05Z",
			"digest": fmt.Sprintf("sha256:%x", sha256.Sum256(data)),
		}}
		if err := c.Update(t.Context(), bucket); err != nil {
			t.Fatal(err)
		}
		got := tm.await(t, "site", "Ready with "+version, func(s *v1.Stack) bool {
			return ready(s) && s.Status.LastUpdate.LastSuccessfulCommit == "main@"+version
		})
		outputs(t, got, map[string]string{"version": `"` + version + `"`})
		if info := got.Status.ProjectInfo; info == nil || info.Name != "site" || info.Runtime != "yaml" {
			t.Errorf("projectInfo %+v, want site in yaml", info)
		}
	}
}

func TestGitRepositoryIsRunByCommitAndByBranch(t *testing.T) {
	c := startCluster(t)
	git := sourcetest.New(t, "me", "canary-password")
	startOperator(t, c)
	tm := newTeam(t, c)
	c.create(t, tm.secret("git", map[string]string{"username": "me", "password": "canary-password"}))
	first := git.Commit(t, "infra/Pulumi.yaml", projectFile("one"))
	second := git.Commit(t, "infra/Pulumi.yaml", projectFile("two"))
	const auth = "\n  gitAuth: {basicAuth: {userName: {type: Literal, literal: {value: me}}, password: {type: Secret, secret: {name: git, key: password}}}}"
	head := "metadata: {name: site}\nspec:" + sourceEnv + "  projectRepo: " + git.URL + "\n  repoDir: infra"
	for _, step := range []struct{ spec, commit, version string }{
		{"\n  commit: " + first + auth, first, "one"},
		{"\n  branch: main\n  gitAuthSecret: git\n  shallow: true", second, "two"},
	} {
		tm.apply(t, &v1.Stack{}, head+step.spec)
		got := tm.await(t, "site", "Ready with "+step.version, ready)
		outputs(t, got, map[string]string{"version": `"` + step.version + `"`})
		if got.Status.LastUpdate.LastSuccessfulCommit != step.commit {
			t.Errorf("commit %s, want %s", got.Status.LastUpdate.LastSuccessfulCommit, step.commit)
		}
	}

	tm.apply(t, &v1.Stack{}, head+"\n  branch: main")
	got := tm.await(t, "site", "stalled without credentials", func(s *v1.Stack) bool {
		return condition(s, v1.StalledCondition).Reason == v1.StalledSourceUnavailableReason
	})
	if message := condition(got, v1.ReadyCondition).Message; !strings.Contains(message, "spec.projectRepo") || strings.Contains(message, "canary") {
		t.Errorf("message %q", message)
	}
}
