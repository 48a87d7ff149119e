package platform

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/components/hop/stackdefaults"
	"github.com/strata-platform/strata/handoff"
)

// fillStacks creates the policy that fills in the fields that a team leaves out of a Stack, if the cluster serves such
// policies. It returns the resources that exist before the first hop. A cluster of unknown version is taken for one that
// serves them: otherwise its API server refuses the policy, and the update fails.
func fillStacks(ctx *pulumi.Context, version string, kind pulumi.Resource, opts ...pulumi.ResourceOption) ([]pulumi.Resource, error) {
	if unfilled(version, false) != "" {
		return nil, nil
	}
	// The policy names the kind of its parameters, and refuses every Stack while that kind is missing.
	binding, err := stackdefaults.New(ctx, "stack-defaults", append(opts, pulumi.DependsOn([]pulumi.Resource{kind}))...)
	if err != nil {
		return nil, err
	}
	return []pulumi.Resource{binding}, nil
}

// unfilled returns what a team has to write into its Stacks because a cluster of this version of Kubernetes does not fill
// it in. workspaces says that upstream's operator runs the Stacks. It returns "" if the cluster does, or if the version is
// unknown.
func unfilled(version string, workspaces bool) string {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	number, err := strconv.Atoi(minor)
	if major != "1" || err != nil || number >= stackdefaults.Since {
		return ""
	}
	fields := []string{"spec.stack", "spec.serviceAccountName", "spec.destroyOnFinalize"}
	for _, key := range handoff.SecretKeys() {
		fields = append(fields, "spec.envRefs."+key)
	}
	for _, key := range handoff.SettingKeys() {
		fields = append(fields, "spec.configRef."+handoff.SettingNamespace+":"+key)
	}
	if workspaces {
		fields = append(fields, "spec.workspaceTemplate.spec.resources.limits.memory")
	}
	return fmt.Sprintf("Kubernetes %s of this cluster fills in no fields of a Stack, Kubernetes 1.%d does: write %s and %s",
		version, stackdefaults.Since, strings.Join(fields[:len(fields)-1], ", "), fields[len(fields)-1])
}

// workspace returns the pod in which upstream's operator runs Stacks.
func (c Config) workspace() hop.Workspace {
	return hop.Workspace{Image: c.WorkspaceImage, CPU: c.WorkspaceCPU, Memory: c.WorkspaceMemory, MemoryLimit: c.WorkspaceMemoryLimit}
}
