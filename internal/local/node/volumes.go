package node

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/home"
)

// A pod's volumes are folders of this machine: pods/<uid>/volumes/<name>. There is no mount: paths in arguments and
// variables are rewritten to them.

func (p *pod) volumeDir(name string) string { return filepath.Join(p.dir, "volumes", name) }

// fillVolumes writes the content of every volume. It is called again while the pod runs, so that changed Secrets and
// fresh tokens reach it.
func (p *pod) fillVolumes(ctx context.Context) error {
	for _, v := range p.current().Spec.Volumes {
		if err := os.MkdirAll(p.volumeDir(v.Name), 0o700); err != nil {
			return err
		}
		files, err := p.volumeFiles(ctx, v)
		if err != nil {
			return fmt.Errorf("volume %s: %w", v.Name, err)
		}
		for _, name := range sortedKeys(files) {
			target := filepath.Join(p.volumeDir(v.Name), filepath.FromSlash(path.Clean("/"+name)))
			if old, err := os.ReadFile(target); err == nil && string(old) == string(files[name]) {
				continue
			}
			if err := home.WriteFile(target, files[name]); err != nil {
				return fmt.Errorf("volume %s: %w", v.Name, err)
			}
		}
	}
	return nil
}

// volumeFiles returns a volume's files by path.
func (p *pod) volumeFiles(ctx context.Context, v corev1.Volume) (map[string][]byte, error) {
	switch {
	case v.EmptyDir != nil:
		return nil, nil
	case v.Secret != nil:
		data, err := p.secret(ctx, v.Secret.SecretName, isTrue(v.Secret.Optional))
		return project(data, v.Secret.Items, err)
	case v.ConfigMap != nil:
		data, err := p.configMap(ctx, v.ConfigMap.Name, isTrue(v.ConfigMap.Optional))
		return project(data, v.ConfigMap.Items, err)
	case v.DownwardAPI != nil:
		return p.downward(v.DownwardAPI.Items)
	case v.Projected != nil:
		files := map[string][]byte{}
		for _, source := range v.Projected.Sources {
			part, err := p.projection(ctx, source)
			if err != nil {
				return nil, err
			}
			maps.Copy(files, part)
		}
		return files, nil
	}
	return nil, fmt.Errorf("this kind of volume is not supported for a pod that runs as a process")
}

func (p *pod) projection(ctx context.Context, source corev1.VolumeProjection) (map[string][]byte, error) {
	switch {
	case source.Secret != nil:
		data, err := p.secret(ctx, source.Secret.Name, isTrue(source.Secret.Optional))
		return project(data, source.Secret.Items, err)
	case source.ConfigMap != nil:
		data, err := p.configMap(ctx, source.ConfigMap.Name, isTrue(source.ConfigMap.Optional))
		return project(data, source.ConfigMap.Items, err)
	case source.DownwardAPI != nil:
		return p.downward(source.DownwardAPI.Items)
	case source.ServiceAccountToken != nil:
		token, err := p.token(ctx, source.ServiceAccountToken)
		return map[string][]byte{source.ServiceAccountToken.Path: token}, err
	}
	return nil, fmt.Errorf("this kind of projection is not supported")
}

func (p *pod) downward(items []corev1.DownwardAPIVolumeFile) (map[string][]byte, error) {
	files := map[string][]byte{}
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
		files[item.Path] = []byte(value)
	}
	return files, nil
}

// project selects keys and names their files; no items means all keys.
func project(data map[string][]byte, items []corev1.KeyToPath, err error) (map[string][]byte, error) {
	if err != nil || len(items) == 0 {
		return data, err
	}
	files := map[string][]byte{}
	for _, item := range items {
		value, ok := data[item.Key]
		if !ok {
			return nil, fmt.Errorf("there is no key %s", item.Key)
		}
		files[item.Path] = value
	}
	return files, nil
}

// token returns a token of the pod's service account, bound to the pod. It is asked for again once four fifths of its
// life are over, as the kubelet does.
func (p *pod) token(ctx context.Context, spec *corev1.ServiceAccountTokenProjection) ([]byte, error) {
	if t, ok := p.tokens[spec.Path]; ok && time.Now().Before(t.renew) {
		return t.value, nil
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: spec.ExpirationSeconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: p.current().Name, UID: p.current().UID},
	}}
	if spec.Audience != "" {
		request.Spec.Audiences = []string{spec.Audience}
	}
	account := p.current().Spec.ServiceAccountName
	answer, err := p.node.client.CoreV1().ServiceAccounts(p.current().Namespace).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("token of service account %s: %w", account, err)
	}
	life := time.Until(answer.Status.ExpirationTimestamp.Time)
	t := podToken{value: []byte(answer.Status.Token), renew: time.Now().Add(life * 4 / 5)}
	p.tokens[spec.Path] = t
	return t.value, nil
}

type podToken struct {
	value []byte
	renew time.Time
}

func (p *pod) secret(ctx context.Context, name string, optional bool) (map[string][]byte, error) {
	s, err := p.node.client.CoreV1().Secrets(p.current().Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, ignoreMissing(err, optional)
	}
	return s.Data, nil
}

func (p *pod) configMap(ctx context.Context, name string, optional bool) (map[string][]byte, error) {
	m, err := p.node.client.CoreV1().ConfigMaps(p.current().Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, ignoreMissing(err, optional)
	}
	data := maps.Clone(m.BinaryData)
	if data == nil {
		data = map[string][]byte{}
	}
	for k, v := range m.Data {
		data[k] = []byte(v)
	}
	return data, nil
}

func ignoreMissing(err error, optional bool) error {
	if optional && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// serviceAccountDir is where a container finds its service account (Kubernetes, "Accessing the API from a Pod").
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// mountRewriter replaces the mount paths of a container by the folders of its volumes. All are replaced in one pass: a
// folder of this machine may itself lie below /tmp.
func (p *pod) mountRewriter(c *corev1.Container) func(string) string {
	dirs := map[string]string{}
	var paths []string
	for _, m := range c.VolumeMounts {
		if mountPath := strings.TrimRight(m.MountPath, "/"); mountPath != "" {
			dirs[mountPath] = p.mountDir(m)
			paths = append(paths, mountPath)
		}
	}
	// The longest path first: /data/cache before /data.
	slices.SortFunc(paths, func(a, b string) int { return len(b) - len(a) })
	mountAt := func(s string, i int) (mountPath string) {
		if i > 0 && !strings.ContainsRune(beforePath, rune(s[i-1])) {
			return ""
		}
		for _, mountPath := range paths {
			rest, ok := strings.CutPrefix(s[i:], mountPath)
			if ok && (rest == "" || strings.ContainsRune(afterPath, rune(rest[0]))) {
				return mountPath
			}
		}
		return ""
	}
	return func(s string) string {
		var b strings.Builder
		for i := 0; i < len(s); {
			mountPath := mountAt(s, i)
			if mountPath == "" {
				b.WriteByte(s[i])
				i++
				continue
			}
			b.WriteString(dirs[mountPath])
			i += len(mountPath)
		}
		return b.String()
	}
}

// What may stand before and behind a path in an argument or a variable.
const (
	beforePath = "=:,;@\"' \t\r\n"
	afterPath  = "/:,;\"' \t\r\n"
)

func (p *pod) mountDir(m corev1.VolumeMount) string {
	return filepath.Join(p.volumeDir(m.Name), filepath.FromSlash(path.Clean("/"+m.SubPath)))
}

// mountedAt returns the folder that a container sees at a path, or "" where nothing is mounted there.
func (p *pod) mountedAt(c *corev1.Container, mountPath string) string {
	for _, m := range c.VolumeMounts {
		if path.Clean(m.MountPath) == mountPath {
			return p.mountDir(m)
		}
	}
	return ""
}
