package engine

import (
	"context"

	"github.com/strata-platform/strata/operator/engine/owners"
	"github.com/strata-platform/strata/operator/engine/owners/taken"
	"github.com/strata-platform/strata/operator/engine/project"
)

// own rejects a run that would create a database or a user of another stack. The caller calls end after the run. For names
// that only the run knows, own gives the plugins of the run a list.
func (r *run) own(ctx context.Context, registry *owners.Registry) (end func(), err error) {
	if r.Operation != Up && r.Operation != Preview || r.located.Folder == "" {
		return func() {}, nil
	}
	// Pulumi reports a program that cannot be read, and creates nothing.
	declared, defaults, _ := r.project.Databases(r.files)
	if r.Source != nil {
		// The files of the project may set config values, too.
		defaults = nil
	}
	others, end, err := registry.Begin(ctx, &owners.Run{
		Declared: declared, Opaque: r.project.Language() != project.YAML,
		Config: r.Config, Defaults: defaults, Secret: r.SecretConfig, State: r.state(), Named: r.Named,
	})
	if err != nil {
		return end, r.failure(Failed, "%v", err)
	}
	variable, err := taken.Write(r.root, others)
	r.env = append(r.env, variable)
	return end, err
}
