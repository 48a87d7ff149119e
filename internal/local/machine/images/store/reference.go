package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
)

// refName is the annotation that holds a reference, from the specification of OCI image layouts.
const refName = "org.opencontainers.image.ref.name"

// Reference is a name and the manifest or index that it stands for.
type Reference struct {
	// Name is complete: registry, repository, and tag or digest, such as "index.docker.io/library/web:1".
	Name string
	// Target is the manifest or index. The store contains it and everything that it needs on this machine.
	Target v1.Descriptor
	// Marks are what the store knows about the image besides its content.
	Marks
}

// index reads index.json. A missing file is an index without references.
func (s *Store) index() (*v1.IndexManifest, error) {
	index := &v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{}}
	content, err := os.ReadFile(filepath.Join(s.dir, "index.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return index, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(content, index); err != nil {
		return nil, fmt.Errorf("decode the references of images in %s: %w", s.dir, err)
	}
	return index, nil
}

// change replaces index.json by the result of edit.
func (s *Store) change(ctx context.Context, edit func([]v1.Descriptor) []v1.Descriptor) error {
	return s.locked(ctx, true, func() error {
		index, err := s.index()
		if err != nil {
			return err
		}
		index.Manifests = edit(index.Manifests)
		content, err := json.MarshalIndent(index, "", "  ")
		if err != nil {
			return err
		}
		return Explain("references of images", replace(filepath.Join(s.dir, "index.json"), content))
	})
}

// Refer adds references, or changes existing ones of the same names, in one step. An existing reference keeps its marks as
// Marks says.
func (s *Store) Refer(ctx context.Context, references ...Reference) error {
	return s.change(ctx, func(manifests []v1.Descriptor) []v1.Descriptor {
		for _, reference := range references {
			target, marks := reference.Target, reference.Marks
			if i := slices.IndexFunc(manifests, named(reference.Name)); i >= 0 {
				marks = marks.after(marksOf(manifests[i].Annotations), manifests[i].Digest == target.Digest)
			}
			target.Annotations = marks.annotations()
			target.Annotations[refName] = reference.Name
			manifests = slices.DeleteFunc(manifests, named(reference.Name))
			manifests = append(manifests, target)
		}
		slices.SortFunc(manifests, func(a, b v1.Descriptor) int {
			return strings.Compare(a.Annotations[refName], b.Annotations[refName])
		})
		return manifests
	})
}

// Forget removes references. Their content stays until Collect removes it.
func (s *Store) Forget(ctx context.Context, names ...string) error {
	return s.change(ctx, func(manifests []v1.Descriptor) []v1.Descriptor {
		return slices.DeleteFunc(manifests, func(m v1.Descriptor) bool { return slices.Contains(names, m.Annotations[refName]) })
	})
}

// named matches the descriptor of a reference.
func named(name string) func(v1.Descriptor) bool {
	return func(m v1.Descriptor) bool { return m.Annotations[refName] == name }
}

// Resolve returns the manifest or index of a reference. A missing one is an error of kind NotFound.
func (s *Store) Resolve(name string) (v1.Descriptor, error) {
	found, err := s.Reference(name)
	return found.Target, err
}

// Reference is Resolve with the marks.
func (s *Store) Reference(name string) (Reference, error) {
	references, err := s.References()
	if err != nil {
		return Reference{}, err
	}
	for _, reference := range references {
		if reference.Name == name {
			return reference, nil
		}
	}
	return Reference{}, fault.New(fault.NotFound, "image "+name, "it is not in the store of this machine")
}

// References returns all references, sorted by name.
func (s *Store) References() ([]Reference, error) {
	index, err := s.index()
	if err != nil {
		return nil, err
	}
	var found []Reference
	for _, m := range index.Manifests {
		name, marks := m.Annotations[refName], marksOf(m.Annotations)
		m.Annotations = nil
		found = append(found, Reference{Name: name, Target: m, Marks: marks})
	}
	return found, nil
}
