package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// volumeDir returns the folder of a volume: pods/<uid>/volumes/<name>. Nothing mounts it; the node rewrites the paths
// in arguments and variables to it.

func (p *pod) volumeDir(name string) string { return filepath.Join(p.dir, "volumes", name) }

// These are the default modes of a volume's files. defaultMode is the API server's default. Only the pod's user may
// read tokens.
const (
	defaultMode = 0o644
	tokenMode   = 0o600
)

// fillVolumes writes the content of every volume. A running pod calls it again to get changed Secrets and fresh
// tokens. A volume that fails keeps its content and does not stop the others.
func (p *pod) fillVolumes(ctx context.Context) error {
	var failed []error
	for _, v := range p.current().Spec.Volumes {
		if err := p.fillVolume(ctx, v); err != nil {
			failed = append(failed, fmt.Errorf("volume %s: %w", v.Name, err))
		}
	}
	return errors.Join(failed...)
}

func (p *pod) fillVolume(ctx context.Context, v corev1.Volume) error {
	if v.EmptyDir != nil {
		return os.MkdirAll(p.volumeDir(v.Name), 0o700)
	}
	files, err := p.volumeFiles(ctx, v)
	if err != nil {
		return err
	}
	return writeFolder(p.volumeDir(v.Name), files)
}

// volumeFiles returns a volume's files by path.
func (p *pod) volumeFiles(ctx context.Context, v corev1.Volume) (map[string]file, error) {
	switch {
	case v.Secret != nil:
		data, err := p.secret(ctx, v.Secret.SecretName, isTrue(v.Secret.Optional))
		return project(data, v.Secret.Items, v.Secret.DefaultMode, isTrue(v.Secret.Optional), err)
	case v.ConfigMap != nil:
		data, err := p.configMap(ctx, v.ConfigMap.Name, isTrue(v.ConfigMap.Optional))
		return project(data, v.ConfigMap.Items, v.ConfigMap.DefaultMode, isTrue(v.ConfigMap.Optional), err)
	case v.DownwardAPI != nil:
		return p.downward(v.DownwardAPI.Items, v.DownwardAPI.DefaultMode)
	case v.Projected != nil:
		files := map[string]file{}
		for _, source := range v.Projected.Sources {
			part, err := p.projection(ctx, v.Name, source, v.Projected.DefaultMode)
			if err != nil {
				return nil, err
			}
			maps.Copy(files, part)
		}
		return files, nil
	}
	return nil, fmt.Errorf("this kind of volume is not supported for a pod that runs as a process")
}

func (p *pod) projection(ctx context.Context, volume string, source corev1.VolumeProjection, mode *int32) (map[string]file, error) {
	switch {
	case source.Secret != nil:
		data, err := p.secret(ctx, source.Secret.Name, isTrue(source.Secret.Optional))
		return project(data, source.Secret.Items, mode, isTrue(source.Secret.Optional), err)
	case source.ConfigMap != nil:
		data, err := p.configMap(ctx, source.ConfigMap.Name, isTrue(source.ConfigMap.Optional))
		return project(data, source.ConfigMap.Items, mode, isTrue(source.ConfigMap.Optional), err)
	case source.DownwardAPI != nil:
		return p.downward(source.DownwardAPI.Items, mode)
	case source.ServiceAccountToken != nil:
		token, err := p.token(ctx, volume, source.ServiceAccountToken)
		return map[string]file{clean(source.ServiceAccountToken.Path): {token, tokenMode}}, err
	}
	return nil, fmt.Errorf("this kind of projection is not supported")
}

func (p *pod) downward(items []corev1.DownwardAPIVolumeFile, mode *int32) (map[string]file, error) {
	files := map[string]file{}
	for _, item := range items {
		var value string
		var err error
		if item.FieldRef != nil {
			value, err = p.field(item.FieldRef.FieldPath)
		} else {
			value, err = p.resource(item.ResourceFieldRef, nil)
		}
		if err != nil {
			return nil, err
		}
		files[clean(item.Path)] = file{[]byte(value), modeOf(item.Mode, mode)}
	}
	return files, nil
}

// project selects keys of data and names their files. No items means all keys.
func project(data map[string][]byte, items []corev1.KeyToPath, mode *int32, optional bool, err error) (map[string]file, error) {
	if err != nil {
		return nil, err
	}
	files := map[string]file{}
	if len(items) == 0 {
		for key, value := range data {
			files[key] = file{value, modeOf(mode)}
		}
		return files, nil
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok && !optional {
			return nil, fmt.Errorf("there is no key %s", item.Key)
		}
		if ok {
			files[clean(item.Path)] = file{value, modeOf(item.Mode, mode)}
		}
	}
	return files, nil
}

// modeOf returns the first mode that is not nil, or defaultMode.
func modeOf(modes ...*int32) fs.FileMode {
	for _, m := range modes {
		if m != nil {
			return fs.FileMode(*m).Perm()
		}
	}
	return defaultMode
}

// clean returns a path below a volume. The path cannot lead out of the volume.
func clean(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }
