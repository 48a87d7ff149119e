package platform

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/components/hop/stackdefaults"
)

// fillStacks creates the policy that fills in the fields that a team leaves out of a Stack, if the cluster serves such
// policies. It returns the resources that exist before the first hop. A cluster of unknown version is taken for one that
// serves them: otherwise its API server refuses the policy, and the update fails.
func fillStacks(ctx *pulumi.Context, version string, kind pulumi.Resource, opts ...pulumi.ResourceOption) ([]pulumi.Resource, error) {
	if stackdefaults.Unfilled(version, nil) != "" {
		return nil, nil
	}
	// The policy names the kind of its parameters, and refuses every Stack while that kind is missing.
	binding, err := stackdefaults.New(ctx, "stack-defaults", append(opts, pulumi.DependsOn([]pulumi.Resource{kind}))...)
	if err != nil {
		return nil, err
	}
	return []pulumi.Resource{binding}, nil
}

// workspace returns the pod in which upstream's operator runs Stacks.
func (c Config) workspace() hop.Workspace {
	return hop.Workspace{Image: c.WorkspaceImage, CPU: c.WorkspaceCPU, Memory: c.WorkspaceMemory, MemoryLimit: c.WorkspaceMemoryLimit}
}
