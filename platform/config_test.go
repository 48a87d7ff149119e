package platform_test

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/platform/operators"
)

func TestInvalidConfigurationIsRejectedBeforeAnyResourceIsCreated(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*platform.Config)
		want []string
	}{
		"nothing": {
			func(c *platform.Config) { *c = platform.Config{TeamsFile: c.TeamsFile} },
			[]string{"fleetUrl is missing", "platformUrl is missing", "teamUrl is missing", "gitPassword is missing"},
		},
		"wrong values": {
			func(c *platform.Config) {
				c.Target, c.FluxVersion, c.Interval, c.FluxComponents = "../x", "latest", "soon", []string{"source-controller"}
				c.FleetURL, c.PlatformURL, c.TeamURL = "git@host:fleet", "https://u:canary@host/p.git", "https://host/all.git"
			},
			[]string{`target "../x"`, `fluxVersion "latest"`, `interval "soon"`, "does not contain kustomize-controller", "fleetUrl is not a URL", "platformUrl contains a login", "teamUrl does not contain {team}"},
		},
		"half a login": {
			func(c *platform.Config) { c.FleetPassword, c.PlatformPassword = "", "canary" },
			[]string{"fleetUsername and fleetPassword", "platformUsername and platformPassword"},
		},
		"an upstream operator that could write the fleet": {
			func(c *platform.Config) { c.FleetUsername, c.FleetPassword = "", "" },
			[]string{"fleetUsername and fleetPassword must be a login that only reads"},
		},
		"one that could by another name": {
			func(c *platform.Config) { c.FleetPassword = c.GitPassword },
			[]string{"fleetUsername and fleetPassword must be a login that only reads"},
		},
		"an operator that is none": {
			func(c *platform.Config) { c.Operator, c.OperatorImage = "downstream", operatorImage },
			[]string{`operator "downstream" is none of embedded, upstream`},
		},
		"a pod without an image": {
			func(c *platform.Config) {
				c.Target, c.Operator = "elsewhere", operators.Embedded
				c.OperatorImage = "strata-operator:1"
			},
			[]string{`operatorImage "strata-operator:1" is not an image with its digest`},
		},
		"the embedded operator in the place of upstream's": {
			func(c *platform.Config) { c.Target, c.OperatorImage = "local-upstream", operatorImage },
			[]string{"operator embedded does not run on target local-upstream"},
		},
		"ranges that are none": {
			func(c *platform.Config) { c.PrivateRanges = []string{"10.0.0.1"} },
			[]string{`privateRanges: "10.0.0.1"`},
		},
		"a team that could write the fleet": {
			func(c *platform.Config) {
				c.TeamCredentials["web"] = platform.Credentials{Username: "flux", Password: c.GitPassword}
			},
			[]string{"teamCredentials.web is the login that writes the fleet repository"},
		},
		"a login of a team that is not there": {
			func(c *platform.Config) {
				c.TeamCredentials["wbe"] = platform.Credentials{Username: "a", Password: "canary"}
			},
			[]string{"teamCredentials names team wbe"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			engine := below(t, test.edit)
			err := run(engine)
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "canary") {
				t.Errorf("error shows a secret: %v", err)
			}
			if made := engine.All(); len(made) > 0 {
				t.Errorf("%d resources were made", len(made))
			}
		})
	}
}
