package options

import (
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	for name, test := range map[string]struct {
		install  Install
		property string
		reason   string
	}{
		"no inputs are valid":          {},
		"latest is the pinned version": {install: Install{Version: "latest"}},
		"an unknown component":         {Install{Components: []string{"source-controller", "kustomize-controller", "x"}}, "components", `"x" is not one of`},
		"a missing required component": {Install{Components: []string{"source-controller"}}, "components", "kustomize-controller is required"},
		"an unknown extra component":   {Install{ComponentsExtras: []string{"x"}}, "componentsExtras", `"x" is not one of`},
		"a version without v":          {Install{Version: "2.9.4"}, "version", `"2.9.4" does not start with v`},
		"an unknown log level":         {Install{LogLevel: "trace"}, "logLevel", `"trace" is not one of info, debug, error`},
		"an invalid interval":          {Install{Interval: "soon"}, "interval", `"soon" is not a positive duration`},
		"a negative timeout":           {Install{Timeouts: Timeouts{Delete: "-1s"}}, "timeouts.delete", `"-1s" is not a positive duration`},
		"an override in invalid YAML":  {Install{KustomizationOverride: "{"}, "kustomizationOverride", "not a kustomization"},
		"an override without the sync": {Install{KustomizationOverride: "resources: [gotk-components.yaml]"}, "kustomizationOverride", "gotk-sync.yaml is missing"},
		"an override with both files":  {install: Install{KustomizationOverride: "resources: [gotk-components.yaml, gotk-sync.yaml]"}},
	} {
		t.Run(name, func(t *testing.T) {
			problems := test.install.Validate()
			if test.property == "" {
				if len(problems) > 0 {
					t.Errorf("problems are %v", problems)
				}
				return
			}
			if len(problems) != 1 || problems[0].Property != test.property || !strings.Contains(problems[0].Reason, test.reason) {
				t.Errorf("problems are %v, want %s: %s", problems, test.property, test.reason)
			}
		})
	}
}
