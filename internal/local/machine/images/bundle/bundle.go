// Package bundle moves images between stores as one file: a tar archive of an OCI image layout, which other tools read, too.
package bundle

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/pull"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

const (
	// refName holds the reference in the index of a layout. In archives of docker save it holds only the tag, and fullName the
	// reference.
	refName  = "org.opencontainers.image.ref.name"
	fullName = "io.containerd.image.name"

	layoutFile, indexFile, blobFolder = "oci-layout", "index.json", "blobs/sha256/"
	layout                            = `{"imageLayoutVersion":"1.0.0"}`
)

// Export writes the images with these references to w. The store must contain them: an error of kind NotFound otherwise. The
// same images result in the same bytes.
func Export(ctx context.Context, s *store.Store, w io.Writer, references ...string) error {
	index := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	blobs := map[string]v1.Descriptor{}
	for _, reference := range references {
		parsed, err := pull.Parse(reference)
		if err != nil {
			return err
		}
		target, err := s.Resolve(parsed.Name())
		if err != nil {
			return err
		}
		if err := s.Reachable(target, func(d v1.Descriptor) { blobs[d.Digest.Hex] = d }); err != nil {
			return err
		}
		target.Annotations = map[string]string{refName: parsed.Name()}
		index.Manifests = append(index.Manifests, target)
	}
	content, err := json.Marshal(index)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(w)
	if err := small(archive, layoutFile, []byte(layout)); err != nil {
		return err
	}
	if err := small(archive, indexFile, content); err != nil {
		return err
	}
	for _, digest := range slices.Sorted(maps.Keys(blobs)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := blob(archive, s, blobs[digest]); err != nil {
			return fmt.Errorf("write bundle: %w", err)
		}
	}
	return archive.Close()
}

// small writes a small file.
func small(archive *tar.Writer, name string, content []byte) error {
	if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := archive.Write(content)
	return err
}

// blob writes a blob. If the store does not contain the manifest of another platform, blob omits it.
func blob(archive *tar.Writer, s *store.Store, d v1.Descriptor) error {
	file, err := s.Blob(d.Digest)
	if fault.Of(err) == fault.NotFound && (d.MediaType.IsImage() || d.MediaType.IsIndex()) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: blobFolder + d.Digest.Hex, Mode: 0o644, Size: info.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(archive, file)
	return err
}

// Import reads an archive from Export, docker save or another tool that writes OCI image layouts, verifies all content, and
// adds the references that it names. It returns them. All namespaces may use the images, which are pinned. largest bounds the
// archive in bytes. After an error the store has no new reference.
func Import(ctx context.Context, s *store.Store, r io.Reader, largest int64) ([]string, error) {
	found, err := Read(ctx, s, r, largest)
	if err != nil {
		return nil, err
	}
	var references []store.Reference
	var names []string
	for _, c := range found {
		if c.Name != "" {
			names = append(names, c.Name)
			references = append(references, store.Reference{Name: c.Name, Target: c.Target, Marks: store.Marks{Users: []string{store.Everyone}, Pinned: true}})
		}
	}
	if len(names) == 0 {
		return nil, broken("its index names no image", nil)
	}
	return names, s.Refer(ctx, references...)
}

// Content is an image of an archive.
type Content struct {
	// Name is its complete reference in the archive, or empty.
	Name string
	// Target is its manifest or index.
	Target v1.Descriptor
}

// ErrDocker is the error of Read for an archive in the older format of docker save, which Docker reads.
var ErrDocker = errors.New("the archive has the older format of docker save")

// Read is Import without references.
func Read(ctx context.Context, s *store.Store, r io.Reader, largest int64) ([]Content, error) {
	archive := tar.NewReader(r)
	var index *v1.IndexManifest
	var total int64
	older := false
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, broken("it is not a tar archive", err)
		}
		if total += header.Size; total > largest {
			return nil, fault.New(fault.TooLarge, "bundle", "it has more than %d bytes", largest)
		}
		name := path.Clean(header.Name)
		digest, isBlob := strings.CutPrefix(name, blobFolder)
		switch {
		case header.Typeflag != tar.TypeReg:
		case name == "manifest.json":
			older = true
		case name == indexFile:
			if index, err = readIndex(archive); err != nil {
				return nil, err
			}
		case isBlob:
			if err := add(ctx, s, archive, digest, header.Size); err != nil {
				return nil, err
			}
		}
	}
	if index == nil && older {
		return nil, broken("it is of docker save before version 25: push it with strata image push", ErrDocker)
	}
	if index == nil {
		return nil, broken("it has no "+indexFile+": write it with strata image bundle, or with a tool that writes OCI image layouts", nil)
	}
	return contents(s, index)
}

// broken returns the error for a wrong bundle.
func broken(why string, cause error) error {
	return &fault.Error{Kind: fault.Corrupt, Object: "bundle", Why: why, Cause: cause}
}
