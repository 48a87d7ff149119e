package status

import v1 "github.com/strata-platform/strata/operator/api/v1"

// KindTeam is the kind of an item for a team that teams.yaml contains and the cluster does not.
const KindTeam = "Team"

// Reasons that Strata sets. All other reasons are those of the objects' own conditions.
const (
	// ReasonMissing is for an object that should exist and does not.
	ReasonMissing = "Missing"
	// ReasonIncomplete is for an object without one of its parts.
	ReasonIncomplete = "Incomplete"
	// ReasonDenied is for missing permissions that a layer grants.
	ReasonDenied = "RightsMissing"
	// ReasonNotCreated is for a layer that has never run.
	ReasonNotCreated = "NotCreated"
	// ReasonAccessDenied is for a cluster that answers, but denies the engineer access.
	ReasonAccessDenied = "AccessDenied"
	// ReasonNothingPublished is for a source whose repository, in a registry or of Git, contains no version in its range.
	ReasonNothingPublished = "NothingPublished"
	// ReasonNotSigned is for a Git repository whose commit or tag has no signature of a publisher.
	ReasonNotSigned = "NotSigned"
	// ReasonRolledBack is for a source that offers an older version than the one that runs, and for its sync.
	ReasonRolledBack = "RolledBack"
	// ReasonSuspended is for a source or sync that somebody has suspended.
	ReasonSuspended = "Suspended"
	// ReasonScaledDown is for a workload of the platform that is scaled to zero.
	ReasonScaledDown = "ScaledToZero"
	// ReasonOverQuota is for pods that exceed the namespace's quota.
	ReasonOverQuota = "QuotaExceeded"
	// ReasonProgressing is for an object in progress.
	ReasonProgressing = "Progressing"
	// ReasonKept is for an object whose deletion fails.
	ReasonKept = "CannotBeDestroyed"
	// ReasonUnsupported is for parts whose versions cannot work together.
	ReasonUnsupported = "Unsupported"
	// ReasonAwaitingApproval is for a Stack whose next run waits for the approval of a person. The operator sets it.
	ReasonAwaitingApproval = v1.StalledAwaitingApprovalReason
	// ReasonTerminating is for an object that is being deleted.
	ReasonTerminating = "Terminating"
)

// progressing are the reasons of objects that are in progress, or wait for another object.
var progressing = []string{
	ReasonProgressing, "ProgressingWithRetry", "DependencyNotReady", "HealthCheckFailed", "InProgress", "ContainersNotReady",
	"StackProcessing", "PrerequisiteNotSatisfied", "NotReadyInProgress", "ContainerCreating", "PodInitializing", "Pending",
	"ArtifactFailed", "starting",
}
