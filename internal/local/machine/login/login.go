// Package login keeps the engineer's login to the emulated Google Cloud in a home. A login is valid for an hour, so a copy of the home
// contains no credential that works later.
package login

import (
	"context"
	"log/slog"
	"time"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/machine/home"
)

const (
	// renewAfter is the age at which a login is replaced. A command that reads it just before can get access tokens for 45 minutes more.
	renewAfter = cloud.LoginLifetime / 4

	// checkEvery is the time between two looks at the clock. It is short because a timer stops while the machine sleeps, and a
	// login does not.
	checkEvery = 15 * time.Second
)

// Issuer issues logins, as [cloud.Server] does.
type Issuer interface {
	Login(project, email string) ([]byte, error)
}

// Keep replaces the login of the user of an e-mail address in a home before it expires, until ctx is done. The caller has just written
// one.
func Keep(ctx context.Context, h home.Home, from Issuer, email string, log *slog.Logger) {
	ticker := time.NewTicker(checkEvery)
	defer ticker.Stop()
	keep(ctx, ticker.C, time.Now, func() error {
		credentials, err := from.Login(h.Project(), email)
		if err != nil {
			return err
		}
		return home.WriteFile(h.EngineerCredentials(), credentials)
	}, log)
}

// keep calls write at a tick if the last successful call is older than renewAfter by the clock.
func keep(ctx context.Context, ticks <-chan time.Time, now func() time.Time, write func() error, log *slog.Logger) {
	// Round removes the reading of the monotonic clock, which stops while the machine sleeps.
	written := now().Round(0)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
		if age := now().Round(0).Sub(written); age.Abs() < renewAfter {
			continue
		}
		if err := write(); err != nil {
			log.Warn("renew the engineer's login to the emulated Google Cloud", "error", err)
			continue
		}
		written = now().Round(0)
	}
}
