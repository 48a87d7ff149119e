package notices

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/operator/approval"
	"github.com/strata-platform/strata/operator/controller/tenant"
	"github.com/strata-platform/strata/operator/plan"
)

const (
	// fluxNamespace is the namespace of Flux, and of the Alert.
	fluxNamespace = "flux-system"

	// group is the API group of the Kustomization that an event is about. notification-controller drops the metadata of other groups.
	group = "kustomize.toolkit.fluxcd.io"

	// Severities. The commit-status notifiers of GitHub, GitLab and Gitea make "success" of the first and "failure" of the second. GitHub
	// and GitLab get nothing about what is still going on, so the operator sends results only.
	info, failure = "info", "error"

	// mostCount bounds a number in a text. Forges cut a description at 140 characters.
	mostCount = 99_999
)

// event is an event of Flux (package event/v1beta1 of its APIs). The server checks nothing but that it is JSON.
type event struct {
	InvolvedObject      corev1.ObjectReference `json:"involvedObject"`
	Severity            string                 `json:"severity"`
	Timestamp           metav1.Time            `json:"timestamp"`
	Message             string                 `json:"message"`
	Reason              string                 `json:"reason"`
	Metadata            map[string]string      `json:"metadata"`
	ReportingController string                 `json:"reportingController"`
}

// eventOf returns the event about a complete Plan of a team that notifies.
func eventOf(p *plan.Plan, policy *tenant.Policy) event {
	severity, reason := result(&p.Status, policy.Approval)
	algorithm := "sha1:"
	if len(p.Spec.Commit) == 64 {
		algorithm = "sha256:"
	}
	metadata := map[string]string{
		// The notifiers take the commit from the revision, after its last colon. A branch before it would only add text of the team.
		group + "/revision": algorithm + p.Spec.Commit,
		// Without this key, the notifiers drop events that are no failures.
		group + "/commit_status": "update",
		// The server drops an event whose object, message, revision and token are those of an event of the last five minutes. Plans of one
		// commit, one after the other, have different UIDs. No forge gets the token.
		group + "/token": string(p.UID),
	}
	// The first Kustomization of a hop has the name of the team. The commitStatusExpr of the Provider appends the others.
	if p.Spec.Sync != policy.Team && p.Spec.Sync != "" {
		metadata[group+"/sync"] = p.Spec.Sync
	}
	return event{
		InvolvedObject: corev1.ObjectReference{APIVersion: group + "/v1", Kind: "Kustomization", Namespace: fluxNamespace, Name: policy.Notify},
		Severity:       severity, Timestamp: metav1.NewTime(time.Now()),
		Message: fmt.Sprintf("Plan %s/%s: %s", p.Namespace, p.Name, reason), Reason: reason,
		Metadata: metadata, ReportingController: "pulumi-operator",
	}
}

// result returns the severity and the reason of an event about a result. The notifiers make the description of the status from the reason:
// they split it where the class of its characters changes, join the parts by spaces, and write them in lower case. So
// "LosesDataOf1:Creates2" becomes "loses data of 1 : creates 2". It has no text of the team.
func result(status *plan.Status, demand string) (severity, reason string) {
	failed, lost, unseen, changes := 0, 0, 0, map[string]int{}
	for _, stack := range status.Stacks {
		if stack.Failed {
			failed++
		}
		if stack.Unseen {
			unseen++
		}
		for op, n := range stack.Changes {
			changes[op] += n
		}
		for _, step := range stack.Steps {
			if step.LosesData {
				lost++
			}
		}
	}
	switch {
	case failed > 0:
		return failure, fmt.Sprintf("PlanFailedFor%dOf%dStacks", failed, len(status.Stacks))
	case status.Phase == plan.Failed:
		return failure, "PlanFailed"
	}
	var counts strings.Builder
	for _, of := range []struct{ op, verb string }{{"create", "Creates"}, {"update", "Updates"}, {"replace", "Replaces"}, {"delete", "Deletes"}} {
		if n := changes[of.op]; n > 0 {
			fmt.Fprintf(&counts, "%s%d", of.verb, min(n, mostCount))
		}
	}
	rest := ""
	if unseen > 0 {
		rest = fmt.Sprintf("-%dStacksNotPlanned", min(unseen, mostCount))
	}
	waits := demand == approval.Always && counts.Len() > 0 || demand != approval.Never && lost > 0
	switch {
	case counts.Len() == 0 && lost == 0:
		return info, "ChangesNothing" + rest
	case lost > 0 && waits:
		return info, fmt.Sprintf("LosesDataOf%dAndNeedsApproval:%s%s", min(lost, mostCount), &counts, rest)
	case lost > 0:
		return info, fmt.Sprintf("LosesDataOf%d:%s%s", min(lost, mostCount), &counts, rest)
	case waits:
		return info, "NeedsApproval:" + counts.String() + rest
	}
	return info, counts.String() + rest
}
