package layout_test

import (
	"slices"
	"testing"

	"github.com/strata-platform/strata/operator/engine/backend"
	"github.com/strata-platform/strata/operator/engine/layout"
	"github.com/strata-platform/strata/operator/environ"
)

func TestEnvironmentIsBuiltFromNothing(t *testing.T) {
	t.Setenv("OPERATOR_SECRET", "canary")
	env, err := layout.Given{
		Base:    []string{"PATH=/tools", "GOOGLE_SQL_CUSTOM_ENDPOINT=http://127.0.0.1:1/"},
		Request: map[string]string{"PULUMI_BACKEND_URL": "file:///old", "A": "1"},
		Backend: "file:///state", Kubeconfig: true,
	}.Environment("/run")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"PATH":                       "/tools",
		"GOOGLE_SQL_CUSTOM_ENDPOINT": "http://127.0.0.1:1/",
		"A":                          "1",
		"HOME":                       "/run/home",
		"KUBECONFIG":                 "/run/kubeconfig",
		"PULUMI_BACKEND_URL":         "file:///state",
		"OPERATOR_SECRET":            "",
	} {
		if got := environ.Variable(env, name); got != want {
			t.Errorf("%s=%q, want %q", name, got, want)
		}
	}
	if slices.Contains(env, "OPERATOR_SECRET=canary") {
		t.Error("the operator's own environment reached the run")
	}
}

func TestBackendOfAFetchedProjectDoesNotCount(t *testing.T) {
	env, err := layout.Given{Request: map[string]string{"PULUMI_ACCESS_TOKEN": "x"}}.Environment("/run")
	if got := environ.Variable(env, "PULUMI_BACKEND_URL"); err != nil || got != backend.Default {
		t.Errorf("backend %q (%v), want %s", got, err, backend.Default)
	}
}

func TestARunHasAUserWithoutAnEntryInThePasswordFile(t *testing.T) {
	for name, given := range map[string][]string{"strata": nil, "ada": {"USER=ada"}} {
		env, err := layout.Given{Base: given}.Environment("/run")
		if err != nil {
			t.Fatal(err)
		}
		if got := environ.Variable(env, "USER"); got != name {
			t.Errorf("with %v, the run has USER=%q, want %q", given, got, name)
		}
	}
}
