package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TemplateCondition is a condition in the status of a template. It has no effect.
type TemplateCondition struct {
	// type has no effect.
	Type *string `json:"type,omitempty"`

	// status has no effect.
	Status *metav1.ConditionStatus `json:"status,omitempty"`

	// observedGeneration has no effect.
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// lastTransitionTime has no effect.
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`

	// reason has no effect.
	Reason *string `json:"reason,omitempty"`

	// message has no effect.
	Message *string `json:"message,omitempty"`
}

// EmbeddedPodTemplate overrides fields of a workspace's pod.
type EmbeddedPodTemplate struct {
	// metadata holds labels and annotations of the pod.
	Metadata *EmbeddedMeta `json:"metadata,omitempty"`

	// spec is the pod's spec.
	Spec *corev1.PodSpec `json:"spec,omitempty"`
}

// EmbeddedServiceTemplate overrides fields of a workspace's service.
type EmbeddedServiceTemplate struct {
	// metadata holds labels and annotations of the service.
	Metadata *EmbeddedMeta `json:"metadata,omitempty"`
}

// EmbeddedMeta holds the labels and annotations of an embedded object.
type EmbeddedMeta struct {
	// labels are the labels to set.
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are the annotations to set.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// UpdateTemplate overrides fields of the Update objects of the upstream operator.
type UpdateTemplate struct {
	// apiVersion is the API version of an Update.
	APIVersion *string `json:"apiVersion,omitempty"`

	// kind is the kind of an Update.
	Kind *string `json:"kind,omitempty"`

	// metadata holds labels and annotations of the Update. It has no effect under the
	// embedded operator.
	Metadata *TemplateMeta `json:"metadata,omitempty"`

	// spec is the Update's spec.
	Spec *UpdateTemplateSpec `json:"spec,omitempty"`

	// status has no effect.
	Status *UpdateTemplateStatus `json:"status,omitempty"`
}

// UpdateTemplateStatus has no effect. The API accepts it so that a template can be a copy of a whole Update.
type UpdateTemplateStatus struct {
	// observedGeneration has no effect.
	ObservedGeneration *int64 `json:"observedGeneration,omitempty"`

	// startTime has no effect.
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// endTime has no effect.
	EndTime *metav1.Time `json:"endTime,omitempty"`

	// permalink has no effect.
	Permalink *string `json:"permalink,omitempty"`

	// message has no effect.
	Message *string `json:"message,omitempty"`

	// outputs has no effect.
	Outputs *string `json:"outputs,omitempty"`

	// conditions has no effect.
	Conditions []TemplateCondition `json:"conditions,omitempty"`

	// projectInfo has no effect.
	ProjectInfo *WorkspaceProjectInfo `json:"projectInfo,omitempty"`
}

// UpdateTemplateSpec overrides fields of an Update's spec.
type UpdateTemplateSpec struct {
	// workspaceName is the workspace that runs the update. It has no effect under the
	// embedded operator.
	WorkspaceName *string `json:"workspaceName,omitempty"`

	// stackName is the stack to update. The embedded operator rejects a value other than
	// spec.stack.
	StackName *string `json:"stackName,omitempty"`

	// type is preview, up, refresh or destroy. It has no effect if the Stack is being
	// deleted or spec.preview is set.
	Type *string `json:"type,omitempty"`

	// ttlAfterCompleted is how long a completed Update stays. It has no effect under the
	// embedded operator, which creates no Update objects.
	TTLAfterCompleted *metav1.Duration `json:"ttlAfterCompleted,omitempty"`

	// parallel is the maximum number of resources that pulumi processes concurrently.
	Parallel *int32 `json:"parallel,omitempty"`

	// message is the update's message in the backend's history.
	Message *string `json:"message,omitempty"`

	// expectNoChanges makes the update fail if it changes a resource.
	ExpectNoChanges *bool `json:"expectNoChanges,omitempty"`

	// replace lists URNs of resources to replace.
	Replace []string `json:"replace,omitempty"`

	// target limits the update to the resources with these URNs.
	Target []string `json:"target,omitempty"`

	// targetDependents extends target to the resources that depend on them.
	TargetDependents *bool `json:"targetDependents,omitempty"`

	// refresh reads the actual state of all resources first.
	Refresh *bool `json:"refresh,omitempty"`

	// continueOnError continues with other resources after a failure.
	ContinueOnError *bool `json:"continueOnError,omitempty"`

	// remove removes the stack from its backend after a destroy of all its resources.
	Remove *bool `json:"remove,omitempty"`

	// runProgram runs the program for a refresh or a destroy.
	RunProgram *bool `json:"runProgram,omitempty"`
}

// TemplateMeta is the metadata of a template. Only labels and annotations have an effect in a template. The API accepts the other
// fields because upstream does.
type TemplateMeta struct {
	// name is the object's name.
	Name *string `json:"name,omitempty"`

	// generateName is the prefix of a generated name.
	GenerateName *string `json:"generateName,omitempty"`

	// namespace is the object's namespace.
	Namespace *string `json:"namespace,omitempty"`

	// uid is the object's UID.
	UID *types.UID `json:"uid,omitempty"`

	// resourceVersion is the object's version.
	ResourceVersion *string `json:"resourceVersion,omitempty"`

	// generation is the generation of the object's spec.
	Generation *int64 `json:"generation,omitempty"`

	// creationTimestamp is the time of the object's creation.
	CreationTimestamp *metav1.Time `json:"creationTimestamp,omitempty"`

	// deletionTimestamp is the time of the object's deletion.
	DeletionTimestamp *metav1.Time `json:"deletionTimestamp,omitempty"`

	// deletionGracePeriodSeconds is how long the deletion may take.
	DeletionGracePeriodSeconds *int64 `json:"deletionGracePeriodSeconds,omitempty"`

	// labels are the labels to set.
	Labels map[string]string `json:"labels,omitempty"`

	// annotations are the annotations to set.
	Annotations map[string]string `json:"annotations,omitempty"`

	// ownerReferences lists the object's owners.
	OwnerReferences []TemplateOwner `json:"ownerReferences,omitempty"`

	// finalizers lists the finalizers that the deletion of the object waits for.
	Finalizers []string `json:"finalizers,omitempty"`
}

// TemplateOwner is an owner in a [TemplateMeta].
type TemplateOwner struct {
	// apiVersion is the owner's API version.
	APIVersion *string `json:"apiVersion,omitempty"`

	// kind is the owner's kind.
	Kind *string `json:"kind,omitempty"`

	// name is the owner's name.
	Name *string `json:"name,omitempty"`

	// uid is the owner's UID.
	UID *types.UID `json:"uid,omitempty"`

	// controller says that the owner manages the object.
	Controller *bool `json:"controller,omitempty"`

	// blockOwnerDeletion keeps the owner while the object exists.
	BlockOwnerDeletion *bool `json:"blockOwnerDeletion,omitempty"`
}
