package plancmd

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/strata-platform/strata/cmd/strata/internal/access"
	"github.com/strata-platform/strata/internal/plans"
	"github.com/strata-platform/strata/internal/plans/approvals"
	"github.com/strata-platform/strata/internal/plans/report"
	"github.com/strata-platform/strata/operator/plan"
)

// place is a team's namespace with its Plans.
type place struct {
	access.Place
	*plans.Client
	approvals *approvals.Client
}

// open connects to the team's namespace.
func open(ctx context.Context, command *cobra.Command, f *access.Flags) (place, error) {
	found, err := f.Open(ctx, command)
	if err != nil {
		return place{}, err
	}
	of, err := plans.NewClient(found.Config)
	if err != nil {
		return place{}, err
	}
	given, err := approvals.NewClient(found.Config)
	return place{found, of, given}, err
}

// subjects returns Plans of the namespace with the states of their approvals.
func (p place) subjects(ctx context.Context, all ...*plan.Plan) ([]report.Subject, error) {
	states, err := p.approvals.States(ctx, p.Namespace, all)
	if err != nil {
		return nil, err
	}
	shown := make([]report.Subject, len(all))
	for i, each := range all {
		shown[i] = report.On(each, states[i], strata)
	}
	return shown, nil
}

// strata returns a command line of strata.
func strata(words string) string { return "strata " + words }
