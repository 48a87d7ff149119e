package local

import (
	"context"
	"errors"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/losses"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
)

// Complete adds to the plan of down the databases that down deletes, and the parts of the home that stay.
func (p *Platform) Complete(ctx context.Context, plan *lifecycle.Plan, _ []apitype.ResourceV3, purge bool) error {
	running, err := p.client.Status(ctx)
	if err != nil && !errors.Is(err, supervisor.ErrNotRunning) {
		return err
	}
	if !purge && p.Home.Exists() {
		plan.Stays = p.Home.Dir() + " stays, with the repositories and the logs: --purge removes it, too."
	}
	var unread []string
	plan.Lost, unread, err = losses.Databases(ctx, p.Home, running.GoogleURL)
	if len(unread) > 0 {
		plan.Unknown = "Databases may also be lost that these unreadable state files and folders name: " + strings.Join(unread, "; ") + "."
	}
	return err
}
