package pull

import (
	"context"
	"encoding/json"
	"runtime"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// manifest returns the manifest for this machine's platform. If d is an index, it selects the manifest from the index.
func (j *job) manifest(ctx context.Context, d v1.Descriptor) (v1.Descriptor, *v1.Manifest, error) {
	const deepest = 3
	for range deepest {
		content, err := j.small(ctx, d)
		if err != nil {
			return d, nil, err
		}
		switch {
		case d.MediaType.IsIndex():
			if d, err = j.choose(content); err != nil {
				return d, nil, err
			}
		case d.MediaType.IsImage():
			manifest := &v1.Manifest{}
			if err := json.Unmarshal(content, manifest); err != nil {
				return d, nil, j.corrupt("its manifest cannot be decoded", err)
			}
			return d, manifest, nil
		default:
			return d, nil, j.corrupt("its manifest has the unsupported type "+quoted(string(d.MediaType)), nil)
		}
	}
	return d, nil, j.corrupt("its index contains too many levels of indexes", nil)
}

// choose returns the manifest of this machine's platform.
func (j *job) choose(content []byte) (v1.Descriptor, error) {
	var index v1.IndexManifest
	if err := json.Unmarshal(content, &index); err != nil {
		return v1.Descriptor{}, j.corrupt("its index cannot be decoded", err)
	}
	var have []string
	for _, m := range index.Manifests {
		if m.Platform == nil || m.MediaType.IsIndex() || (m.Platform.OS == "linux" && m.Platform.Architecture == runtime.GOARCH) {
			return m, nil
		}
		// Build attestations are listed as manifests of the platform unknown/unknown.
		if m.Platform.OS != "unknown" {
			have = append(have, m.Platform.String())
		}
	}
	return v1.Descriptor{}, j.otherPlatform(have)
}

// config reads the image's configuration and checks it against the manifest and this machine.
func (j *job) config(ctx context.Context, manifest *v1.Manifest) (*v1.ConfigFile, error) {
	content, err := j.small(ctx, manifest.Config)
	if err != nil {
		return nil, err
	}
	config := &v1.ConfigFile{}
	if err := json.Unmarshal(content, config); err != nil {
		return nil, j.corrupt("its configuration cannot be decoded", err)
	}
	if config.OS != "linux" || config.Architecture != runtime.GOARCH {
		return nil, j.otherPlatform([]string{config.OS + "/" + config.Architecture})
	}
	if len(config.RootFS.DiffIDs) != len(manifest.Layers) {
		return nil, j.corrupt("its configuration and its manifest list different numbers of layers", nil)
	}
	return config, nil
}
