// Package examples_test checks the manifests of examples/ against the types of their kinds and what a hop gives a team.
package examples_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/handoff"
	operatorv1 "github.com/strata-platform/strata/operator/api/v1"
)

// wordpress is the content of examples/wordpress, decoded strictly.
type wordpress struct {
	program    operatorv1.Program
	stack      operatorv1.Stack
	deployment appsv1.Deployment
	service    corev1.Service
}

func load(t *testing.T) wordpress {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "wordpress")
	if err != nil {
		t.Fatal(err)
	}
	var app wordpress
	kinds := map[string]any{
		"Program": &app.program, "Stack": &app.stack, "Deployment": &app.deployment, "Service": &app.service,
	}
	for _, object := range built.Resources() {
		content, err := object.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		into, known := kinds[object.GetKind()]
		if !known {
			t.Fatalf("a %s is not expected", object.GetKind())
		}
		if err := yaml.UnmarshalStrict(content, into); err != nil {
			t.Errorf("%s: %v", object.CurId(), err)
		}
		if object.GetNamespace() != "" {
			t.Errorf("%s names a namespace: that is for the hop to say", object.CurId())
		}
		delete(kinds, object.GetKind())
	}
	for kind := range kinds {
		t.Errorf("there is no %s", kind)
	}
	return app
}

func TestTheStackRunsTheProgramInTheTeamsContext(t *testing.T) {
	app := load(t)
	spec := app.stack.Spec
	if spec.ProgramRef == nil || spec.ProgramRef.Name != app.program.Name {
		t.Errorf("the Stack runs %v", spec.ProgramRef)
	}
	if spec.ServiceAccountName != "web" || !spec.DestroyOnFinalize {
		t.Errorf("the Stack runs as %q and is destroyed with its object: %v", spec.ServiceAccountName, spec.DestroyOnFinalize)
	}
	for _, key := range []string{
		handoff.KeyBackendURL, handoff.KeyPassphrase, handoff.KeyGoogleCredentials, handoff.KeyGoogleProject, handoff.KeyGoogleRegion,
	} {
		ref, found := spec.EnvRefs[key]
		if !found || ref.Secret == nil || ref.Secret.Name != handoff.TenantName || ref.Secret.Key != key || ref.Secret.Namespace != "" {
			t.Errorf("%s does not come from the team's context", key)
		}
	}
	if got := spec.ConfigRef["instance"]; got.Name != handoff.TenantName || got.Key != handoff.KeyInstance {
		t.Errorf("the instance comes from %+v", got)
	}
	for key := range spec.ConfigRef {
		if _, declared := app.program.Program.Configuration[key]; !declared {
			t.Errorf("the Program does not declare %s", key)
		}
	}
}

func TestTheDeploymentReadsWhatTheProgramWrites(t *testing.T) {
	app := load(t)
	secret, found := app.program.Program.Resources["sql-auth"]
	if !found || secret.Type != "kubernetes:core/v1:Secret" {
		t.Fatal("the Program makes no Secret sql-auth")
	}
	var keys map[string]string
	if err := yaml.Unmarshal(secret.Properties["stringData"].Raw, &keys); err != nil {
		t.Fatal(err)
	}
	if len(keys) != 5 {
		t.Errorf("keys of sql-auth are %v, want username, password, host, port and database", keys)
	}
	read := 0
	for _, variable := range app.deployment.Spec.Template.Spec.Containers[0].Env {
		if variable.ValueFrom == nil {
			continue
		}
		ref := variable.ValueFrom.SecretKeyRef
		if _, written := keys[ref.Key]; !written || ref.Name != "sql-auth" {
			t.Errorf("%s reads key %s of %s, which nobody writes", variable.Name, ref.Key, ref.Name)
		}
		read++
	}
	if read != len(keys) {
		t.Errorf("the Deployment reads %d keys of %d", read, len(keys))
	}
	if app.service.Spec.Selector["app"] != app.deployment.Spec.Template.Labels["app"] {
		t.Error("the Service selects other pods than the Deployment's")
	}
}
