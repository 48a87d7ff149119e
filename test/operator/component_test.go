package operator_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/cloudtest"
	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/long"
	"github.com/strata-platform/strata/test/stratatest"
)

// databaseProgram creates a database with a user, a password and a Secret. It creates the instance too, because this test
// has no layer 1.
const databaseProgram = `
metadata: {name: shop}
program:
  resources:
    server:
      type: gcp:sql:DatabaseInstance
      properties: {name: strata, databaseVersion: MYSQL_8_0, deletionProtection: false, settings: {tier: db-f1-micro}}
    orders:
      type: strata:index:Database
      properties:
        name: web_orders
        instance: ${server.name}
  outputs:
    secret: ${orders.secret}
    host: ${orders.host}
`

// TestAComponentInAProgramBecomesReady runs a Program with a component of the plugin strata under the operator, with the
// confinement, the stored schemas and the plugins of a home.
func TestAComponentInAProgramBecomesReady(t *testing.T) {
	long.Test(t)
	c, google := startCluster(t), cloudtest.Start(t)
	o := prepareOperator(t, c, "--pass-env=PATH,GOOGLE_*_CUSTOM_ENDPOINT")
	o.cmd.Env = append(o.cmd.Env, "PATH="+withPlugins(t, c.tools, "gcp", "random", "strata"))
	endpoints := cloud.Endpoints(google.URL)
	for _, name := range slices.Sorted(maps.Keys(endpoints)) {
		o.cmd.Env = append(o.cmd.Env, name+"="+endpoints[name])
	}
	o.start(t)
	tm := newTeam(t, c)
	tm.create(t, &corev1.Secret{ObjectMeta: tm.meta("google"), StringData: map[string]string{
		"GOOGLE_CREDENTIALS": google.Owner, "GOOGLE_PROJECT": cloudtest.Project, "GOOGLE_REGION": "europe-west1",
	}})
	tm.apply(t, &v1.Program{}, databaseProgram)
	stack := stackOf("shop", "shop")
	for _, name := range []string{"GOOGLE_CREDENTIALS", "GOOGLE_PROJECT", "GOOGLE_REGION"} {
		stack = strings.Replace(stack, "envRefs:\n", "envRefs:\n    "+name+": {type: Secret, secret: {name: google, key: "+name+"}}\n", 1)
	}
	tm.apply(t, &v1.Stack{}, stack)
	if got := tm.await(t, "shop", "Ready", ready); string(got.Status.Outputs["secret"].Raw) != `"orders"` {
		t.Errorf("the outputs are %s", got.Status.Outputs)
	}
	secret := &corev1.Secret{}
	if err := tm.Get(t.Context(), client.ObjectKey{Namespace: tm.namespace, Name: "orders"}, secret); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"username": "web_orders", "database": "web_orders", "connection": cloudtest.Project + ":europe-west1:strata", "port": "3306",
	} {
		if got := string(secret.Data[key]); got != want {
			t.Errorf("the Secret's %s is %q, want %q", key, got, want)
		}
	}
	if len(secret.Data["password"]) != 32 || len(secret.Data["host"]) == 0 {
		t.Errorf("the Secret has a password of %d characters and the host %q", len(secret.Data["password"]), secret.Data["host"])
	}
	state, err := os.ReadFile(filepath.Join(tm.state, ".pulumi", "stacks", "shop", "shop.json"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(state), string(secret.Data["password"])) {
		t.Error("the state holds the password as plain text")
	}

	if err := tm.Delete(t.Context(), &v1.Stack{ObjectMeta: tm.meta("shop")}); err != nil {
		t.Fatal(err)
	}
	tm.await(t, "shop", "gone", func(s *v1.Stack) bool { return s == nil })
	if err := tm.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret is left behind: %v", err)
	}
}

// withPlugins returns a folder with the tools in dir, and with strata as the named plugins, as in a home.
func withPlugins(t *testing.T, dir string, plugins ...string) string {
	t.Helper()
	made := t.TempDir()
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(made, name)); err != nil {
			t.Fatal(err)
		}
	}
	tools, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		target, err := filepath.EvalSymlinks(filepath.Join(dir, tool.Name()))
		if err != nil {
			t.Fatal(err)
		}
		link(target, tool.Name())
	}
	for _, name := range plugins {
		link(stratatest.Executable(t), "pulumi-resource-"+name)
	}
	return made
}
