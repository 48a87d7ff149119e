package fields

import (
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/stall"
)

func spec(t *testing.T, text string) *v1.StackSpec {
	t.Helper()
	s := &v1.StackSpec{}
	if err := yaml.UnmarshalStrict([]byte(text), s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestValidateRejectsWhatTheOperatorCannotApply(t *testing.T) {
	const program = "stack: dev\nprogramRef: {name: shop}\n"
	const git = "stack: dev\nprojectRepo: https://example.com/repo\n"
	for name, tc := range map[string]struct {
		spec     string
		messages []string
	}{
		"no source":   {"stack: dev", []string{"no source", Sources}},
		"two sources": {program + "projectRepo: https://example.com/repo\nbranch: main", []string{"spec.programRef, spec.projectRepo", "more than one"}},
		"fields that are not supported": {
			program + "environment: [esc]\nworkspaceTemplate: {spec: {local: {dir: /app}}}",
			[]string{"spec.environment, spec.workspaceTemplate.spec.local", "not supported"},
		},
		"a setting of git without a repository":   {program + "repoDir: infra", []string{"spec.repoDir", "without spec.projectRepo"}},
		"a repository without a branch or commit": {git, []string{"one of spec.branch and spec.commit"}},
		"a repository with both":                  {git + "branch: main\ncommit: abc", []string{"one of spec.branch and spec.commit"}},
		"credentials in two forms":                {git + "branch: main\ngitAuth: {}\ngitAuthSecret: a", []string{"spec.gitAuth, spec.gitAuthSecret"}},
		"an expectation without what it is about": {program + "expectNoRefreshChanges: true", []string{"spec.expectNoRefreshChanges", "without spec.refresh"}},
		"an update of no known type":              {program + "updateTemplate: {spec: {type: improve}}", []string{"spec.updateTemplate.spec.type", "improve"}},
		"an update of another stack":              {program + "updateTemplate: {spec: {stackName: other}}", []string{"spec.updateTemplate.spec.stackName", "remove it"}},
		"a label that no object may have":         {program + "workspaceTemplate: {metadata: {labels: {cost: a lot}}}", []string{"spec.workspaceTemplate.metadata.labels", "a lot", "correct it"}},
		"a reserved variable":                     {program + "envRefs: {PATH: {type: Literal, literal: {value: /evil}}}", []string{"spec.envRefs.PATH", "is reserved", "remove it"}},
		"a reserved variable of the template":     {program + "workspaceTemplate: {spec: {env: [{name: KUBECONFIG, value: x}]}}", []string{"spec.workspaceTemplate.spec.env.KUBECONFIG", "is reserved"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := Validate(&v1.Stack{Spec: *spec(t, tc.spec)})
			if !errors.As(err, new(*stall.Error)) {
				t.Fatalf("the error is %v, want a *stall.Error", err)
			}
			for _, want := range tc.messages {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("message %q does not contain %q", err, want)
				}
			}
		})
	}
}

func TestValidateAcceptsWhatTheOperatorApplies(t *testing.T) {
	for _, text := range []string{
		"stack: dev\nprogramRef: {name: shop}\nenvRefs: {A: {type: Literal, literal: {value: x}}}",
		"stack: dev\nprojectRepo: https://example.com/repo\nbranch: main\nrepoDir: infra",
		"stack: dev\nprogramRef: {name: shop}\nexpectNoRefreshChanges: true\nrefresh: true\nupdateTemplate: {spec: {type: refresh, stackName: dev}}",
	} {
		if err := Validate(&v1.Stack{Spec: *spec(t, text)}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
