package controller

import (
	"context"
	"fmt"
	"path"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/source"
)

// program is the program of a Stack.
type program struct {
	// project is the Pulumi project's name. project is empty until the project has been
	// fetched.
	project string

	// revision is the revision of the source.
	revision string

	// content is a complete Pulumi.yaml. If content is nil, source has the files, and path
	// is the project's folder in them.
	content []byte
	source  engine.Source
	path    string
}

// sourceFields lists the source fields for messages. A Stack sets exactly one of them.
const sourceFields = "spec.programRef, spec.fluxSource or spec.projectRepo"

// program determines the Stack's program.
func (s *session) program(ctx context.Context) (*program, error) {
	spec := &s.stack.Spec
	if spec.ProjectRepo == "" {
		s.lookups.Forget(s.key())
	}
	switch {
	case spec.ProgramRef != nil:
		return s.inlineProgram(ctx, spec.ProgramRef.Name)
	case spec.FluxSource != nil:
		return s.fluxProgram(ctx, spec.FluxSource)
	case spec.ProjectRepo != "":
		return s.gitProgram(ctx)
	}
	return nil, invalid("no source: set %s", sourceFields)
}

// inlineProgram reads and checks a Program.
func (s *session) inlineProgram(ctx context.Context, name string) (*program, error) {
	key := client.ObjectKey{Namespace: s.stack.Namespace, Name: name}
	s.depend(dependency{scope{programResource, key.Namespace}, key.Name})
	object := &v1.Program{}
	if err := s.reader.Get(ctx, key, object); apierrors.IsNotFound(err) {
		return nil, unavailable("spec.programRef: there is no Program %s: create it", key)
	} else if err != nil {
		return nil, fmt.Errorf("spec.programRef: %w", err)
	}
	content, revision, err := projectFile(object)
	if err != nil {
		return nil, err
	}
	if err := checkProgram(object, content, configKeys(&s.stack.Spec)); err != nil {
		return nil, unavailable("Program %s: %v", key, err)
	}
	return &program{project: name, revision: revision, content: content}, nil
}

// fluxProgram reads the address of a Flux source's artifact.
func (s *session) fluxProgram(ctx context.Context, from *v1.FluxSource) (*program, error) {
	const field = "spec.fluxSource"
	ref := from.SourceRef
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || version.Group == "" || ref.Kind == "" || ref.Name == "" {
		return nil, invalid("%s.sourceRef: give apiVersion, kind and name of a Flux source, for example %s", field, exampleSource)
	}
	kind := version.WithKind(ref.Kind)
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	s.depend(dependency{scope{resource, s.stack.Namespace}, ref.Name})

	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	key := client.ObjectKey{Namespace: s.stack.Namespace, Name: ref.Name}
	if err := s.reader.Get(ctx, key, object); meta.IsNoMatchError(err) {
		return nil, unavailable("%s: this cluster has no kind %s of %s: install it, or correct sourceRef", field, ref.Kind, ref.APIVersion)
	} else if apierrors.IsNotFound(err) {
		return nil, unavailable("%s: there is no %s %s: create it", field, ref.Kind, key)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	artifact := &v1.Artifact{}
	content, found, err := unstructured.NestedMap(object.Object, "status", "artifact")
	if err == nil && found {
		err = kruntime.DefaultUnstructuredConverter.FromUnstructured(content, artifact)
	}
	if err != nil {
		return nil, unavailable("%s: status.artifact of %s %s cannot be read: %v", field, ref.Kind, key, err)
	}
	if artifact.URL == "" {
		return nil, unavailable("%s: %s %s has no artifact yet%s", field, ref.Kind, key, notReady(object))
	}
	// If only spec.ignore of the source changes, the digest changes and the revision does
	// not.
	s.refs.versions["artifact"] = artifact.Digest
	return &program{
		revision: artifact.Revision,
		source:   source.Artifact{URL: artifact.URL, Digest: artifact.Digest, Revision: artifact.Revision},
		path:     folder(from.Dir),
	}, nil
}

const exampleSource = "{apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, name: app}"

// notReady returns the message of an object's Ready condition if the object is not
// ready.
func notReady(object *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == v1.ReadyCondition && c["status"] != "True" {
			return fmt.Sprintf(": %v", c["message"])
		}
	}
	return ""
}

// folder returns a folder of a source in the form that the engine takes.
func folder(dir string) string {
	if dir == "" || path.Clean(dir) == "." {
		return ""
	}
	return path.Clean(dir)
}

func unavailable(format string, args ...any) error {
	return &stall{reason: v1.StalledSourceUnavailableReason, message: fmt.Sprintf(format, args...)}
}
