package claims

import (
	"strings"
	"testing"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/engine"
)

func TestPublicAddressesOfBackendsHaveNoSecrets(t *testing.T) {
	for address, want := range map[string]string{
		"gs://state":                                "gs://state",
		"file:///state/team/":                       "file:///state/team",
		"postgres://me:canary@db/state?x=canary":    "postgres://db/state",
		"s3://state?region=eu&awssdk=v2":            "s3://state",
		"postgres://me:canary%zz@db/state?x=canary": "postgres://",
		"": "",
	} {
		if got := PublicAddress(address); got != want {
			t.Errorf("%s is shown as %q, want %q", address, got, want)
		}
	}
}

func TestCheckPlaceRejectsAnotherPlace(t *testing.T) {
	held := v1.ProjectInfo{Name: "shop", Stack: "dev", Backend: "gs://state"}
	cases := map[string]struct {
		project string
		req     engine.Request
		refused string
	}{
		"the same place":           {project: "shop", req: engine.Request{Stack: "dev", Backend: "gs://state"}},
		"a project not known yet":  {req: engine.Request{Stack: "dev", Backend: "gs://state"}},
		"another project":          {project: "cart", req: engine.Request{Stack: "dev", Backend: "gs://state"}, refused: "stack dev of project cart in gs://state"},
		"another stack":            {project: "shop", req: engine.Request{Stack: "prod", Backend: "gs://state"}, refused: "stack prod of project shop"},
		"another backend":          {project: "shop", req: engine.Request{Stack: "dev", Backend: "gs://other"}, refused: "in gs://other"},
		"a backend of environment": {project: "shop", req: engine.Request{Stack: "dev", Env: map[string]string{"PULUMI_BACKEND_URL": "gs://other"}}, refused: "in gs://other"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			err := CheckPlace(&held, c.project, c.req)
			if c.refused == "" && err != nil {
				t.Errorf("refused: %v", err)
			}
			if c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), "stack dev of project shop in gs://state")) {
				t.Errorf("error %v, want one that names both places", err)
			}
		})
	}
}
