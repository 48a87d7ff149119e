package publish

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"path"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Media types of the artifacts of Flux (fluxcd/pkg/oci, as `flux push artifact` writes them).
const (
	configType  types.MediaType = "application/vnd.cncf.flux.config.v1+json"
	contentType types.MediaType = "application/vnd.cncf.flux.content.v1.tar+gzip"
)

// Annotations of the manifest. Flux copies them to the status of the OCIRepository.
const (
	// VersionAnnotation is the version of the artifact. It is covered by the signature, and the tag is not.
	VersionAnnotation = "org.opencontainers.image.version"
	// revisionAnnotation is the commit. Flux shows it as the origin of what it applies.
	revisionAnnotation = "org.opencontainers.image.revision"
)

// pack returns the layer of a tree: its files, and the folders above them, with the same modes and times for every tree.
func pack(files []file) ([]byte, error) {
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	archive := tar.NewWriter(compressed)
	seen := map[string]bool{".": true}
	var folder func(name string) error
	folder = func(name string) error {
		if seen[name] {
			return nil
		}
		seen[name] = true
		if err := folder(path.Dir(name)); err != nil {
			return err
		}
		return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: time.Unix(0, 0)})
	}
	for _, each := range files {
		if err := folder(path.Dir(each.name)); err != nil {
			return nil, err
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: each.name, Size: int64(len(each.content)), Mode: 0o644, ModTime: time.Unix(0, 0)}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(each.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

// image returns an OCI image with one layer.
func image(config types.MediaType, layer mutate.Addendum, annotations map[string]string) (v1.Image, error) {
	made, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layer)
	if err != nil {
		return nil, err
	}
	made = mutate.ConfigMediaType(made, config)
	if len(annotations) == 0 {
		return made, nil
	}
	return mutate.Annotations(made, annotations).(v1.Image), nil
}

// artifact returns the image of a tree.
func artifact(layer []byte, version, revision string) (v1.Image, error) {
	annotations := map[string]string{VersionAnnotation: version}
	if revision != "" {
		annotations[revisionAnnotation] = revision
	}
	return image(configType, mutate.Addendum{Layer: static.NewLayer(layer, contentType)}, annotations)
}
