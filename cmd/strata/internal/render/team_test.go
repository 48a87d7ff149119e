package render

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/teamadmin"
)

func TestATeamsQuotaIsReadable(t *testing.T) {
	for name, test := range map[string]struct {
		quota []teamadmin.Quota
		want  string
	}{
		"in use": {
			[]teamadmin.Quota{{Resource: "limits.memory", Used: "512Mi", Hard: "16Gi"}, {Resource: "pods", Used: "1", Hard: "50"}, {Resource: "requests.cpu", Used: "100m", Hard: "4"},
				{Resource: "requests.memory", Used: "128Mi", Hard: "8Gi"}, {Resource: "services.nodeports", Used: "0", Hard: "0"}},
			"  quota           limits.memory 512Mi of 16Gi, pods 1 of 50, cpu 100m of 4\n                  memory 128Mi of 8Gi\n",
		},
		"unused":            {[]teamadmin.Quota{{Resource: "pods", Used: "0", Hard: "50"}}, "  quota           unused\n"},
		"without a cluster": {[]teamadmin.Quota{{Resource: "pods", Hard: "50"}}, "  quota           pods 50\n"},
		"not in teams.yaml": {nil, "  may declare\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			Teams(&out, []teamadmin.Team{{Name: "web", State: teamadmin.Ready, Quota: test.quota, Stacks: []teamadmin.Stack{{Name: "infra", Account: "web", Ready: true}}}})
			if !strings.Contains(out.String(), test.want) || strings.Contains(out.String(), "quota") != (test.quota != nil) {
				t.Errorf("the output is\n%s, want\n%s", out.String(), test.want)
			}
			if strings.Contains(out.String(), " \n") {
				t.Errorf("a line ends in a blank:\n%q", out.String())
			}
		})
	}
}

func TestTheMessageOfATeamIsEscaped(t *testing.T) {
	var out strings.Builder
	Teams(&out, []teamadmin.Team{{Name: "web", State: teamadmin.NotReady, Message: "Stack infra: \x1b[2Jgone"}})
	if strings.Contains(out.String(), "\x1b") || !strings.HasPrefix(out.String(), "web  not ready: Stack infra: ") {
		t.Errorf("the output is %q", out.String())
	}
}
