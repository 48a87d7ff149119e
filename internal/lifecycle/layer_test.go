package lifecycle

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/progress"
)

func TestALayerRunsAloneOnAPreparedMachine(t *testing.T) {
	up := (*Platform).LayerUp
	preview := (*Platform).LayerPreview
	destroy := (*Platform).LayerDestroy
	other := errors.New("another command changes the platform")
	for name, test := range map[string]struct {
		do        func(*Platform, context.Context, *progress.Reporter, string) (layers.Summary, error)
		locked    error
		neverMade bool
		events    string
		said      string
	}{
		"an up updates the repositories, too": {up, nil, false, "lock prepare(true) hold up release unlock", "up layer bootstrap"},
		"a preview locks, too":                {preview, nil, false, "lock prepare(false) hold preview release unlock", "preview layer bootstrap"},
		"a destroy":                           {destroy, nil, false, "lock prepare(false) hold destroy release unlock", "destroy layer bootstrap"},
		"an up waits for no other command":    {up, other, false, "lock", ""},
		"nor does a preview":                  {preview, other, false, "lock", ""},
		"nor does a destroy":                  {destroy, other, false, "lock", ""},
		"without resources, a destroy does nothing": {
			destroy, nil, true, "", "layer bootstrap has never run: there is nothing to destroy",
		},
	} {
		t.Run(name, func(t *testing.T) {
			target := newTestTarget(t, nil)
			target.states = map[string][]apitype.ResourceV3{}
			target.locked, target.neverMade = test.locked, test.neverMade
			var said strings.Builder
			if _, err := test.do(New(target), t.Context(), progress.New(&said), BootstrapLayer); !errors.Is(err, test.locked) {
				t.Errorf("it ends with %v, want %v", err, test.locked)
			}
			if got := strings.Join(target.events, " "); got != test.events {
				t.Errorf("it does %q, want %q", got, test.events)
			}
			if !strings.Contains(said.String(), test.said) {
				t.Errorf("it does not say %q:\n%s", test.said, &said)
			}
		})
	}
}

// TestDriftIsNamedByAPreviewAndMendedByAnUp also has a cluster that cannot be compared, which ends neither.
func TestDriftIsNamedByAPreviewAndMendedByAnUp(t *testing.T) {
	unreadable := errors.New("connection\nrefused")
	preview := func(ctx context.Context, p *Platform, run Run, progress layers.Progress) (layers.Summary, error) {
		return p.previewOperation().do(ctx, run, progress)
	}
	up := func(ctx context.Context, p *Platform, run Run, progress layers.Progress) (layers.Summary, error) {
		return p.up(ctx, run, progress)
	}
	for name, c := range map[string]struct {
		do    func(context.Context, *Platform, Run, layers.Progress) (layers.Summary, error)
		fault error
		want  string
	}{
		"a preview": {preview, nil, "warning: Deployment a is missing: up installs it again"},
		"an up":     {up, nil, "warning: Deployment b is missing: it is installed again"},
		"a preview of an unreadable cluster": {preview, unreadable,
			"warning: Deployment a is missing: up installs it again, warning: the cluster was not compared with the state: connection refused"},
		"an up of an unreadable cluster": {up, unreadable,
			"warning: Deployment b is missing: it is installed again, warning: the cluster was not compared with the state: connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			target := newTestTarget(t, nil)
			target.states = map[string][]apitype.ResourceV3{}
			run, err := target.Open(t.Context(), BootstrapLayer)
			if err != nil {
				t.Fatal(err)
			}
			run.Drift = func(context.Context) ([]string, error) { return []string{"Deployment a is missing"}, c.fault }
			run.Mend = func(context.Context) ([]string, error) { return []string{"Deployment b is missing"}, c.fault }
			var said []string
			if _, err := c.do(t.Context(), New(target), run, func(op, resource string) { said = append(said, op+" "+resource) }); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(said, ", "); got != c.want {
				t.Errorf("it says %q, want %q", got, c.want)
			}
		})
	}
}
