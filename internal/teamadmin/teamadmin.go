// Package teamadmin adds, lists and removes the teams of a platform. The states of the teams are those of `strata status`.
package teamadmin

import (
	"context"

	"github.com/strata-platform/strata/internal/lifecycle"
)

// Target is a target whose teams strata manages.
type Target interface {
	lifecycle.Target

	// GoogleProject returns the ID of the Google Cloud project with the accounts of the teams.
	GoogleProject() string
	// Stopped returns why the cluster cannot be read, for example "the cluster is Stopped"; empty if the cluster runs.
	Stopped(ctx context.Context) (why string, err error)
	// EnsureRepository creates the repository of a team of teams.yaml, and returns it. It returns the zero Repository, and
	// creates nothing, if the Git server does not run.
	EnsureRepository(ctx context.Context, team string) (Repository, error)
	// KeptRepository returns the repository of a team that is no longer in teams.yaml; the zero Repository if there is none,
	// or the Git server does not run.
	KeptRepository(ctx context.Context, team string) Repository
}

// Admin manages the teams of the platform of a target.
type Admin struct {
	*lifecycle.Platform
	target Target
}

// New returns the Admin of a target, whether or not its platform exists.
func New(target Target) *Admin { return &Admin{Platform: lifecycle.New(target), target: target} }
