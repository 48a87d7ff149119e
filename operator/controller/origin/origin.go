// Package origin finds the program of a Stack: in a Program, in a source of Flux, or in a Git repository.
package origin

import (
	"context"
	"fmt"
	"path"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/operator/controller/dependents"
	"github.com/strata-platform/strata/operator/controller/fields"
	"github.com/strata-platform/strata/operator/controller/githubapp"
	"github.com/strata-platform/strata/operator/controller/inputs"
	"github.com/strata-platform/strata/operator/controller/lookup"
	"github.com/strata-platform/strata/operator/controller/program"
	"github.com/strata-platform/strata/operator/controller/stall"
	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/workdir"
	"github.com/strata-platform/strata/operator/source"
)

// Program is the program of a Stack.
type Program struct {
	// Project is the Pulumi project's name. Project is empty until the engine has fetched
	// the project.
	Project string

	// Revision is the revision of the source.
	Revision string

	// Content is a complete Pulumi.yaml. If Content is nil, Source has the files, and Path
	// is the project's folder in them.
	Content []byte
	Source  engine.Source
	Path    string

	// LookedUp is the time of the lookup of the commit. LookedUp is zero if the source needs
	// no lookup.
	LookedUp time.Time
}

// Finder finds the programs of Stacks. All reconciliations share a Finder.
type Finder struct {
	reader  client.Reader
	lookups *lookup.Lookups
	folders *workdir.Folders
	tokens  githubapp.Tokens
}

// NewFinder returns a Finder. reader reads from the API server. lookups query the Git servers; the end of a lookup wakes the
// Stack. Without lookups, Find itself waits for the Git servers. git runs in folders, because these folders hold credentials that a
// clean-up must remove.
func NewFinder(reader client.Reader, lookups *lookup.Lookups, folders *workdir.Folders) *Finder {
	return &Finder{reader: reader, lookups: lookups, folders: folders}
}

// search is the search for the program of one Stack.
type search struct {
	*Finder
	stack *v1.Stack
	refs  *inputs.Resolver

	// waits says that a run of the Stack waits for a slot or has one.
	waits bool
}

// Find finds the Stack's program. refs reads the credentials of a Git repository. waits says that a run of the Stack waits
// for a slot or has one; the last lookup of a commit then stays valid. The error is [lookup.ErrActive] while a lookup is
// active, and a [*stall.Error] if the source is wrong or not available.
func (f *Finder) Find(ctx context.Context, stack *v1.Stack, refs *inputs.Resolver, waits bool) (*Program, error) {
	s := &search{Finder: f, stack: stack, refs: refs, waits: waits}
	spec := &stack.Spec
	if spec.ProjectRepo == "" && f.lookups != nil {
		f.lookups.Forget(client.ObjectKeyFromObject(stack))
	}
	switch {
	case spec.ProgramRef != nil:
		return s.inlineProgram(ctx, spec.ProgramRef.Name)
	case spec.FluxSource != nil:
		return s.fluxProgram(ctx, spec.FluxSource)
	case spec.ProjectRepo != "":
		return s.gitProgram(ctx)
	}
	return nil, stall.Invalid("no source: set %s", fields.Sources)
}

// inlineProgram reads and checks a Program.
func (s *search) inlineProgram(ctx context.Context, name string) (*Program, error) {
	key := client.ObjectKey{Namespace: s.stack.Namespace, Name: name}
	s.refs.Depend(dependents.On(dependents.Programs, key.Namespace, key.Name))
	object := &v1.Program{}
	if err := s.reader.Get(ctx, key, object); apierrors.IsNotFound(err) {
		return nil, stall.Unavailable("spec.programRef: there is no Program %s: create it", key)
	} else if err != nil {
		return nil, fmt.Errorf("spec.programRef: %w", err)
	}
	content, revision, err := program.ProjectFile(object)
	if err != nil {
		return nil, err
	}
	if err := program.Check(object, program.ConfigKeys(&s.stack.Spec)); err != nil {
		return nil, stall.Unavailable("Program %s: %v", key, err)
	}
	return &Program{Project: name, Revision: revision, Content: content}, nil
}

// fluxProgram reads the address of a Flux source's artifact.
func (s *search) fluxProgram(ctx context.Context, from *v1.FluxSource) (*Program, error) {
	const field = "spec.fluxSource"
	ref := from.SourceRef
	kind, err := fields.FluxKind(from)
	if err != nil {
		return nil, err
	}
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	s.refs.Depend(dependents.On(resource, s.stack.Namespace, ref.Name))

	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	key := client.ObjectKey{Namespace: s.stack.Namespace, Name: ref.Name}
	if err := s.reader.Get(ctx, key, object); meta.IsNoMatchError(err) {
		return nil, stall.Unavailable("%s: this cluster has no kind %s of %s: install it, or correct sourceRef", field, ref.Kind, ref.APIVersion)
	} else if apierrors.IsNotFound(err) {
		return nil, stall.Unavailable("%s: there is no %s %s: create it", field, ref.Kind, key)
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	artifact := &v1.Artifact{}
	content, found, err := unstructured.NestedMap(object.Object, "status", "artifact")
	if err == nil && found {
		err = kruntime.DefaultUnstructuredConverter.FromUnstructured(content, artifact)
	}
	if err != nil {
		return nil, stall.Unavailable("%s: status.artifact of %s %s cannot be read: %v", field, ref.Kind, key, err)
	}
	if artifact.URL == "" {
		return nil, stall.Unavailable("%s: %s %s has no artifact yet%s", field, ref.Kind, key, notReady(object))
	}
	// If only spec.ignore of the source changes, the digest changes and the revision does
	// not.
	s.refs.Note("artifact", artifact.Digest)
	return &Program{
		Revision: artifact.Revision,
		Source:   source.Artifact{URL: artifact.URL, Digest: artifact.Digest, Revision: artifact.Revision},
		Path:     folder(from.Dir),
	}, nil
}

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
