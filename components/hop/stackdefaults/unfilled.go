package stackdefaults

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff"
)

// Unfilled returns what a team has to write into its Stacks because a cluster of this version of Kubernetes does not fill
// it in. workspace is the pod in which upstream's operator runs the Stacks, nil under the embedded one. It returns "" if the
// cluster does, or if the version is unknown.
func Unfilled(version string, workspace *hop.Workspace) string {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	number, err := strconv.Atoi(minor)
	if major != "1" || err != nil || number >= Since {
		return ""
	}
	fields := []string{"spec.stack", "spec.serviceAccountName", "spec.destroyOnFinalize"}
	for _, key := range handoff.SecretKeys() {
		fields = append(fields, "spec.envRefs."+key)
	}
	for _, key := range handoff.SettingKeys() {
		fields = append(fields, "spec.configRef."+handoff.SettingNamespace+":"+key)
	}
	if workspace != nil {
		if workspace.Image != "" {
			fields = append(fields, "spec.workspaceTemplate.spec.image ("+workspace.Image+")")
		}
		fields = append(fields, "spec.workspaceTemplate.spec.resources.limits.memory")
	}
	return fmt.Sprintf("Kubernetes %s of this cluster fills in no fields of a Stack, Kubernetes 1.%d does: write %s and %s",
		version, Since, strings.Join(fields[:len(fields)-1], ", "), fields[len(fields)-1])
}
