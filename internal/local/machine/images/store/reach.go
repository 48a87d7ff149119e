package store

import (
	"encoding/json"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
)

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
