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

// Refer adds references, or changes existing ones of the same names, in one step.
func (s *Store) Refer(ctx context.Context, references ...Reference) error {
	return s.change(ctx, func(manifests []v1.Descriptor) []v1.Descriptor {
		for _, reference := range references {
			target := reference.Target
			target.Annotations = map[string]string{refName: reference.Name}
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
	references, err := s.References()
	if err != nil {
		return v1.Descriptor{}, err
	}
	for _, reference := range references {
		if reference.Name == name {
			return reference.Target, nil
		}
	}
	return v1.Descriptor{}, fault.New(fault.NotFound, "image "+name, "it is not in the store of this machine")
}

// References returns all references, sorted by name.
func (s *Store) References() ([]Reference, error) {
	index, err := s.index()
	if err != nil {
		return nil, err
	}
	var found []Reference
	for _, m := range index.Manifests {
		name := m.Annotations[refName]
		m.Annotations = nil
		found = append(found, Reference{Name: name, Target: m})
	}
	return found, nil
}

// Reachable calls visit for target, and for every blob of the store below it: manifests, configurations and layers. A missing
// manifest of another platform is no error.
func (s *Store) Reachable(target v1.Descriptor, visit func(v1.Descriptor)) error {
	return s.reach(target, visit, map[v1.Hash]bool{})
}

// reach is Reachable without the manifests in seen: nested indexes can name the same manifest very many times.
func (s *Store) reach(target v1.Descriptor, visit func(v1.Descriptor), seen map[v1.Hash]bool) error {
	if seen[target.Digest] {
		return nil
	}
	seen[target.Digest] = true
	visit(target)
	if !target.MediaType.IsIndex() && !target.MediaType.IsImage() {
		return nil
	}
	content, err := s.Read(target.Digest)
	if fault.Of(err) == fault.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	// One type for both: a field of the other kind stays empty.
	var manifest struct {
		Manifests []v1.Descriptor `json:"manifests"`
		Config    *v1.Descriptor  `json:"config"`
		Layers    []v1.Descriptor `json:"layers"`
	}
	if err := json.Unmarshal(content, &manifest); err != nil {
		return &fault.Error{Kind: fault.Corrupt, Object: "manifest " + target.Digest.String(), Why: "it cannot be decoded", Cause: err}
	}
	if target.MediaType.IsImage() {
		if manifest.Config != nil {
			visit(*manifest.Config)
		}
		for _, layer := range manifest.Layers {
			visit(layer)
		}
		return nil
	}
	for _, child := range manifest.Manifests {
		if err := s.reach(child, visit, seen); err != nil {
			return err
		}
	}
	return nil
}
