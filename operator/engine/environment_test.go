package engine

import (
	"slices"
	"testing"

	"github.com/strata-platform/strata/operator/engine/sandbox"
)

func TestEnvironmentIsBuiltFromNothing(t *testing.T) {
	t.Setenv("OPERATOR_SECRET", "canary")
	e := &Engine{Env: []string{"PATH=/tools", "GOOGLE_SQL_CUSTOM_ENDPOINT=http://127.0.0.1:1/"}}
	env, err := e.environment("/run", "file:///state", Request{
		Env:        map[string]string{"PULUMI_BACKEND_URL": "file:///old", "A": "1"},
		Kubeconfig: []byte("x"),
	})
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
		if got := sandbox.Value(env, name); got != want {
			t.Errorf("%s=%q, want %q", name, got, want)
		}
	}
	if slices.Contains(env, "OPERATOR_SECRET=canary") {
		t.Error("the operator's own environment reached the run")
	}
}

func TestBackendOfAFetchedProjectDoesNotCount(t *testing.T) {
	env, err := (&Engine{}).environment("/run", "", Request{Env: map[string]string{"PULUMI_ACCESS_TOKEN": "x"}})
	if got := sandbox.Value(env, "PULUMI_BACKEND_URL"); err != nil || got != defaultBackend {
		t.Errorf("backend %q (%v), want %s", got, err, defaultBackend)
	}
}

func TestDescribeNamesResourceAndCause(t *testing.T) {
	const urn = "urn:pulumi:dev::shop::gcp:sql/database:Database::orders"
	diag := func(urn, severity, message string) event {
		return event{Diagnostic: &diagnostic{URN: urn, Severity: severity, Message: message}}
	}
	cases := map[string]struct {
		events []event
		want   string
	}{
		"the provider's error comes with its resource": {
			[]event{diag(urn, "error", "1 error occurred:\n\t* googleapi: Error 403: denied, forbidden\n\n"), diag("", "error", "update failed")},
			"orders (gcp:sql/database:Database): googleapi: Error 403: denied, forbidden",
		},
		"further errors are counted": {
			[]event{diag(urn, "error", "first"), diag(urn, "error", "second"), diag("", "warning", "no")},
			"orders (gcp:sql/database:Database): first (and 1 more)",
		},
		"what the program writes as it fails is joined": {
			[]event{diag("", "info#err", "\x1b[31mError\x1b[0m: nope does not exist\n"), diag("", "info#err", "  on Pulumi.yaml line 8:\n")},
			"nope does not exist on Pulumi.yaml line 8:",
		},
		"without events the command's own line stays": {nil, "before"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			failure := &Error{Message: "before"}
			log := &eventLog{mask: newMask(Request{})}
			for _, e := range c.events {
				log.add(&e)
			}
			failure.describe(&log.faults)
			if failure.Message != c.want {
				t.Errorf("message %q, want %q", failure.Message, c.want)
			}
		})
	}
}
