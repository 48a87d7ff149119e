package wait

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/status"
)

func TestAWaitForThePlatformOrForAll(t *testing.T) {
	item := func(layer, kind, reason string) status.Item {
		return status.Item{Layer: layer, Kind: kind, Name: "x", Ready: reason == "", Reason: reason}
	}
	cluster, operator := item(status.LayerBootstrap, "Cluster", ""), item(status.LayerSync, "Deployment", "")
	stack, missing := item(status.LayerTeam, "Stack", "UpdateFailed"), item(status.LayerTeam, status.KindTeam, status.ReasonNotCreated)
	source := item(status.LayerTeam, "GitRepository", "GitOperationFailed")
	waits, done := item(status.LayerSync, "Deployment", "InProgress"), item(status.LayerTeam, "Stack", "")
	const all, platform = All, Platform
	for name, tc := range map[string]struct {
		what    For
		reports [][]status.Item // the last one repeats
		want    string          // the beginning of the error
		teams   bool
	}{
		"everything is ready":                        {all, [][]status.Item{{cluster, waits, stack}, {cluster, operator, done}}, "", false},
		"a team's mistake":                           {all, [][]status.Item{{cluster, operator, stack}}, "the platform is ready, but a team is not: Stack x: UpdateFailed (all causes: `strata status`)", true},
		"a team's mistake while the platform starts": {all, [][]status.Item{{cluster, waits, stack}, {cluster, operator, stack}}, "the platform is ready, but a team is not: Stack x", true},
		"a team's source":                            {all, [][]status.Item{{cluster, operator, source}}, "the platform is ready, but a team is not: GitRepository x", true},
		"the platform alone, with a team's mistake":  {platform, [][]status.Item{{cluster, waits, stack}, {cluster, operator, stack}}, "", false},
		"a platform that does not start":             {all, [][]status.Item{{cluster, waits, stack}}, "the platform is not ready after 300ms: Deployment x: InProgress", false},
		"the same, alone":                            {platform, [][]status.Item{{cluster, waits, stack}}, "the platform is not ready after 300ms: Deployment x: InProgress", false},
		"a team that the platform does not have yet": {platform, [][]status.Item{{cluster, operator, missing}}, "the platform is not ready after 300ms: Team x: NotCreated", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			looks := 0
			look := func(context.Context) (status.Report, error) {
				items := tc.reports[min(looks, len(tc.reports)-1)]
				looks++
				return status.NewReport(append([]status.Item{}, items...)), nil
			}
			w := Wait{
				Look: look, Sure: look, Config: func(context.Context) (*rest.Config, error) { return nil, nil },
				Limit: 300 * time.Millisecond, Every: time.Millisecond, Call: "strata status",
			}
			report, err := w.Until(t.Context(), tc.what, func(status.Item) {})
			var teams *TeamsError
			if errors.As(err, &teams) != tc.teams || (err == nil) != (tc.want == "") || err != nil && !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("the error is %v, want %s", err, tc.want)
			}
			if len(report.Items) != 3 {
				t.Errorf("the report has %d items: %+v", len(report.Items), report.Items)
			}
		})
	}
}
