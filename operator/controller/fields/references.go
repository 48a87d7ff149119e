package fields

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/stall"
)

// MostPrerequisites is the greatest number of Stacks that come before one Stack, directly or not.
const MostPrerequisites = 100

// exampleSource is a reference to a Flux source, for messages.
const exampleSource = "{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, name: app}"

// checkReferences rejects references that no object can satisfy.
func checkReferences(stack *v1.Stack) error {
	spec := &stack.Spec
	for _, name := range slices.Sorted(maps.Keys(spec.EnvRefs)) {
		if err := CheckReference("spec.envRefs."+name, spec.EnvRefs[name], stack.Namespace); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(spec.SecretRefs)) {
		if err := CheckReference("spec.secretsRef."+key, spec.SecretRefs[key], stack.Namespace); err != nil {
			return err
		}
	}
	for i, from := range Workspace(spec).EnvFrom {
		if err := CheckEnvFrom(EnvFromPath(i), from); err != nil {
			return err
		}
	}
	for _, variable := range Workspace(spec).Env {
		if variable.ValueFrom == nil {
			continue
		}
		if err := CheckValueFrom(WorkspacePath+"env."+variable.Name, *variable.ValueFrom); err != nil {
			return err
		}
	}
	if spec.FluxSource != nil {
		_, err := FluxKind(spec.FluxSource)
		return err
	}
	return nil
}

// CheckReference rejects a reference in the field path to the operator's environment, to the operator's files, or to a Secret outside of
// the Stack's namespace.
func CheckReference(path string, ref v1.ResourceRef, namespace string) error {
	switch {
	case ref.Type == v1.ResourceSelectorLiteral && ref.Literal != nil:
		return nil
	case ref.Type == v1.ResourceSelectorSecret && ref.Secret != nil:
		if ref.Secret.Namespace != "" && ref.Secret.Namespace != namespace {
			return stall.Invalid("%s: Secret %s/%s is in another namespace: use a Secret in the namespace of the Stack", path, ref.Secret.Namespace, ref.Secret.Name)
		}
		return nil
	case ref.Type == v1.ResourceSelectorLiteral, ref.Type == v1.ResourceSelectorSecret:
		return stall.Invalid("%s: type %s needs the field %s", path, ref.Type, strings.ToLower(string(ref.Type)))
	case ref.Type == v1.ResourceSelectorEnv, ref.Type == v1.ResourceSelectorFS:
		return stall.Invalid("%s: type %s would read the environment or the files of the operator: use Secret or Literal", path, ref.Type)
	}
	return stall.Invalid("%s: type %q is unknown: use Secret or Literal", path, ref.Type)
}

// EnvFromPath returns the path of an entry of the workspace template's envFrom.
func EnvFromPath(index int) string { return WorkspacePath + "envFrom[" + strconv.Itoa(index) + "]" }

// CheckEnvFrom rejects a source of variables that names no object.
func CheckEnvFrom(path string, from corev1.EnvFromSource) error {
	if from.ConfigMapRef == nil && from.SecretRef == nil {
		return stall.Invalid("%s: set configMapRef or secretRef", path)
	}
	return nil
}

// CheckValueFrom rejects a source of a variable that only a pod has. The namespace is the only field that a variable can refer to.
func CheckValueFrom(path string, from corev1.EnvVarSource) error {
	if from.SecretKeyRef == nil && from.ConfigMapKeyRef == nil && (from.FieldRef == nil || from.FieldRef.FieldPath != "metadata.namespace") {
		return stall.Invalid("%s: programs run without a pod: use secretKeyRef, configMapKeyRef or a value", path)
	}
	return nil
}

// FluxKind returns the kind of the Flux source that a Stack names, or a [*stall.Error] if the reference is incomplete.
func FluxKind(from *v1.FluxSource) (schema.GroupVersionKind, error) {
	ref := from.SourceRef
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || version.Group == "" || ref.Kind == "" || ref.Name == "" {
		return schema.GroupVersionKind{}, stall.Invalid("spec.fluxSource.sourceRef: give apiVersion, kind and name of a Flux source, for example %s", exampleSource)
	}
	return version.WithKind(ref.Kind), nil
}

// CheckPrerequisites rejects a Stack that waits for itself or for too many Stacks.
func CheckPrerequisites(stack *v1.Stack) error {
	if n := len(stack.Spec.Prerequisites); n > MostPrerequisites {
		return stall.Invalid("spec.prerequisites: %d Stacks, more than %d: remove some", n, MostPrerequisites)
	}
	if slices.ContainsFunc(stack.Spec.Prerequisites, func(required v1.PrerequisiteRef) bool { return required.Name == stack.Name }) {
		return stall.Invalid("spec.prerequisites: Stack %s is its own prerequisite: remove it", stack.Name)
	}
	return nil
}
