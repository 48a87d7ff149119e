package volume

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// These are the default modes of a volume's files.
const (
	defaultMode = 0o644 // as in the API server
	// TokenMode lets only the user who runs the platform read a token. Containers see the mode of tokenFile.
	TokenMode = 0o600
)

// files returns a volume's files by path.
func (v *Volumes) files(ctx context.Context, volume corev1.Volume) (map[string]file, error) {
	switch {
	case volume.Secret != nil:
		data, err := v.pod.Secret(ctx, volume.Secret.SecretName, ptr.Deref(volume.Secret.Optional, false))
		return v.project(data, volume.Secret.Items, volume.Secret.DefaultMode, ptr.Deref(volume.Secret.Optional, false), err)
	case volume.ConfigMap != nil:
		data, err := v.pod.ConfigMap(ctx, volume.ConfigMap.Name, ptr.Deref(volume.ConfigMap.Optional, false))
		return v.project(data, volume.ConfigMap.Items, volume.ConfigMap.DefaultMode, ptr.Deref(volume.ConfigMap.Optional, false), err)
	case volume.DownwardAPI != nil:
		return v.downward(volume.DownwardAPI.Items, volume.DownwardAPI.DefaultMode)
	case volume.Projected != nil:
		files := map[string]file{}
		for _, source := range volume.Projected.Sources {
			part, err := v.projection(ctx, volume.Name, source, volume.Projected.DefaultMode)
			if err != nil {
				return nil, err
			}
			maps.Copy(files, part)
		}
		return files, nil
	}
	return nil, fmt.Errorf("this node supports this type of volume only for simulated pods")
}

// projection returns the files of one source of a projected volume.
func (v *Volumes) projection(ctx context.Context, volume string, source corev1.VolumeProjection, mode *int32) (map[string]file, error) {
	switch {
	case source.Secret != nil:
		data, err := v.pod.Secret(ctx, source.Secret.Name, ptr.Deref(source.Secret.Optional, false))
		return v.project(data, source.Secret.Items, mode, ptr.Deref(source.Secret.Optional, false), err)
	case source.ConfigMap != nil:
		data, err := v.pod.ConfigMap(ctx, source.ConfigMap.Name, ptr.Deref(source.ConfigMap.Optional, false))
		return v.project(data, source.ConfigMap.Items, mode, ptr.Deref(source.ConfigMap.Optional, false), err)
	case source.DownwardAPI != nil:
		return v.downward(source.DownwardAPI.Items, mode)
	case source.ServiceAccountToken != nil:
		token, err := v.token(ctx, volume, source.ServiceAccountToken)
		return map[string]file{clean(source.ServiceAccountToken.Path): v.tokenFile(token, mode)}, err
	}
	return nil, fmt.Errorf("this node does not support this type of projection")
}

// downward returns the files of the downward API.
func (v *Volumes) downward(items []corev1.DownwardAPIVolumeFile, mode *int32) (map[string]file, error) {
	files := map[string]file{}
	for _, item := range items {
		var value string
		var err error
		if item.FieldRef != nil {
			value, err = v.pod.Field(item.FieldRef.FieldPath)
		} else {
			value, err = v.pod.Resource(item.ResourceFieldRef, nil)
		}
		if err != nil {
			return nil, err
		}
		files[clean(item.Path)] = v.file([]byte(value), modeOf(item.Mode, mode))
	}
	return files, nil
}

// project returns the files of a Secret or ConfigMap. items selects keys and their paths; without items, every key is a
// file of its own name. It returns err if that is not nil.
func (v *Volumes) project(data map[string][]byte, items []corev1.KeyToPath, mode *int32, optional bool, err error) (map[string]file, error) {
	if err != nil {
		return nil, err
	}
	files := map[string]file{}
	if len(items) == 0 {
		for key, value := range data {
			files[key] = v.file(value, modeOf(mode))
		}
		return files, nil
	}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok && !optional {
			return nil, fmt.Errorf("the object has no key %s", item.Key)
		}
		if ok {
			files[clean(item.Path)] = v.file(value, modeOf(item.Mode, mode))
		}
	}
	return files, nil
}

// file returns a file of root, which the pod's fsGroup may read.
func (v *Volumes) file(data []byte, mode fs.FileMode) file {
	f := file{data: data, mode: mode}
	if r := v.seen(nil, mode); v.keepsOwners() && r.GID != 0 {
		f.seen = r
	}
	return f
}

// tokenFile returns the file of a service account token. As in the kubelet, only the common user of all containers and the
// pod's fsGroup can read it. A pod without both has the mode of the volume.
func (v *Volumes) tokenFile(token []byte, mode *int32) file {
	if !v.keepsOwners() {
		return file{data: token, mode: modeOf(mode)}
	}
	user, context := v.fsUser(), v.pod.Pod().Spec.SecurityContext
	if user != nil || context != nil && context.FSGroup != nil {
		return file{data: token, mode: TokenMode, seen: v.seen(user, TokenMode)}
	}
	return file{data: token, mode: TokenMode, seen: v.seen(nil, modeOf(mode))}
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

// clean returns a relative path without ".." elements, so that it cannot leave its volume.
func clean(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }
