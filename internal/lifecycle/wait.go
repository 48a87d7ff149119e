package lifecycle

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/inspect"
	"github.com/strata-platform/strata/internal/status/wait"
)

// WaitFor says what up waits for.
type WaitFor string

const (
	// WaitAll waits for the platform and all teams. It is the zero value's meaning, too.
	WaitAll WaitFor = "all"
	// WaitPlatform waits for layers 1 to 3 only.
	WaitPlatform WaitFor = "platform"
)

// TeamsError says that the platform is ready, and that a team is not. Only the team can fix the cause.
type TeamsError struct {
	// Cause is the root cause. Status is the command that shows all causes.
	Cause  status.Item
	Status string
}

// Error implements the error interface.
func (e *TeamsError) Error() string {
	return fmt.Sprintf("the platform is ready, but a team is not: %s (all causes: `%s`)", e.Cause, e.Status)
}

// WaitReady waits until what is ready, or has a fault that waiting does not fix. It calls waiting with the root cause. It
// returns the last report on the platform and all teams. If only a team is not ready, the error is a [*TeamsError].
func (p *Platform) WaitReady(ctx context.Context, what WaitFor, waiting func(status.Item)) (status.Report, error) {
	var watch inspect.Watch
	defer watch.Stop()
	return p.waitReady(ctx, what, func(ctx context.Context) (status.Report, error) { return p.Watch(ctx, &watch) }, p.Status, waiting)
}

// waitReady is WaitReady with a function that may lag behind the cluster, and one that does not.
func (p *Platform) waitReady(ctx context.Context, what WaitFor, look, sure func(context.Context) (status.Report, error), waiting func(status.Item)) (status.Report, error) {
	about := p.About()
	end := time.Now().Add(about.Ready)
	var last status.Report
	// part keeps the complete report, and returns the part of it that the wait is for.
	part := func(look func(context.Context) (status.Report, error), of func(status.Report) status.Report) func(context.Context) (status.Report, error) {
		return func(ctx context.Context) (status.Report, error) {
			report, err := look(ctx)
			if err == nil {
				last = report
			}
			return of(report), err
		}
	}
	ready := func(of func(status.Report) status.Report, limit time.Duration) error {
		_, err := wait.Wait{
			Look: part(look, of), Sure: part(sure, of),
			Config: func(ctx context.Context) (*rest.Config, error) { return p.Config(ctx, false) },
			Runs:   p.Alive,
			Limit:  limit, Every: about.Poll, Call: about.Call("status"),
		}.Ready(ctx, waiting)
		return err
	}
	// A fault of a team must not end the wait while the platform is still on its way.
	if err := ready(status.Report.Platform, about.Ready); err != nil || what == WaitPlatform {
		return last, err
	}
	err := ready(func(r status.Report) status.Report { return r }, max(time.Until(end), about.Poll))
	if cause, found := last.RootCause(); err != nil && ctx.Err() == nil && found && last.Platform().Ready {
		err = &TeamsError{Cause: cause, Status: about.Call("status")}
	}
	return last, err
}
