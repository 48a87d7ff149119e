package wait

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/strata-platform/strata/internal/status"
)

// For says what to wait for. It is a value of a flag.
type For string

const (
	// All waits for the platform and all teams.
	All For = "all"
	// Platform waits for layers 1 to 3 only.
	Platform For = "platform"

	// Bootstrap waits for layer 1. It is no value of the flag, like all that follow.
	Bootstrap For = "bootstrap"
	// Objects waits for layer 1, and for the objects of layer 2 that exist without a working Flux, such as namespaces and roles.
	Objects For = "objects"
	// Flux waits for layers 1 and 2.
	Flux For = "flux"
	// Kinds waits for layers 1 and 2, and for the kinds of the operator in layer 3.
	Kinds For = "kinds"
)

// fluxKinds are the kinds of layer 2 whose readiness needs Flux: its own workloads, and the objects that they process.
var fluxKinds = []string{"Deployment", "ReplicaSet", "Pod", "GitRepository", "OCIRepository", "Bucket", "Kustomization", "Receiver"}

// beforeOperator are the objects of layer 3 that Flux applies before the operator, by kind, namespace and name (sync/clusters).
var beforeOperator = []string{"Kustomization platform/policies", "GitRepository platform/pulumi-operator", "Kustomization platform/operator-crds"}

// part returns the part of a report that has to be ready first.
func (f For) part(report status.Report) status.Report {
	switch f {
	case Bootstrap:
		return report.UpTo(status.LayerBootstrap)
	case Objects:
		return report.UpTo(status.LayerPlatform).Part(func(i status.Item) bool { return !slices.Contains(fluxKinds, i.Kind) })
	case Flux:
		return report.UpTo(status.LayerPlatform)
	case Kinds:
		return report.Part(func(i status.Item) bool {
			return status.LayerRank(i.Layer) <= status.LayerRank(status.LayerPlatform) || slices.Contains(beforeOperator, i.Kind+" "+i.Namespace+"/"+i.Name)
		})
	}
	return report.Platform()
}

// String implements pflag.Value.
func (f *For) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *For) Type() string { return "string" }

// Set implements pflag.Value.
func (f *For) Set(value string) error {
	if *f = For(value); *f != All && *f != Platform {
		return fmt.Errorf("use %s or %s", Platform, All)
	}
	return nil
}

// TeamsError says that the platform is ready, and that a team is not. Only the team can fix the cause.
type TeamsError struct {
	// Cause is the root cause. Call is the command that shows all causes.
	Cause status.Item
	Call  string
}

// Error implements the error interface.
func (e *TeamsError) Error() string {
	return fmt.Sprintf("the platform is ready, but a team is not: %s (all causes: `%s`)", e.Cause, e.Call)
}

// Until waits like Ready, first for the platform, or its lower layers, and then, if what is All, for the teams. It returns the last
// report on both. If only a team is not ready, the error is a [*TeamsError].
func (w Wait) Until(ctx context.Context, what For, waiting func(status.Item)) (status.Report, error) {
	end := time.Now().Add(w.Limit)
	var last status.Report
	// part keeps the complete report, and returns the part of it that the wait is for.
	part := func(look func(context.Context) (status.Report, error), of func(status.Report) status.Report) func(context.Context) (status.Report, error) {
		if look == nil {
			return nil
		}
		return func(ctx context.Context) (status.Report, error) {
			report, err := look(ctx)
			if err == nil {
				last = report
			}
			return of(report), err
		}
	}
	first := w
	first.Look, first.Sure = part(w.Look, what.part), part(w.Sure, what.part)
	// A fault of a team must not end the wait while the platform still starts.
	if _, err := first.Ready(ctx, waiting); err != nil || what != All {
		return last, err
	}
	whole := func(r status.Report) status.Report { return r }
	second := w
	second.Look, second.Sure = part(w.Look, whole), part(w.Sure, whole)
	second.Limit = max(time.Until(end), w.Every)
	_, err := second.Ready(ctx, waiting)
	if cause, found := last.RootCause(); err != nil && ctx.Err() == nil && found && last.Platform().Ready {
		err = &TeamsError{Cause: cause, Call: w.Call}
	}
	return last, err
}
