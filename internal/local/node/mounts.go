package node

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// serviceAccountDir is where a container finds its service account (Kubernetes, "Accessing the API from a Pod").
const serviceAccountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// mount is a folder or file of this machine that a container knows by a path of its own.
type mount struct{ path, dir string }

// mounts are the mounts of one container, the longest path first: /data/cache before /data.
type mounts []mount

// mounts returns a container's mounts. env are its variables, which subPathExpr may name.
func (p *pod) mounts(c *corev1.Container, env map[string]string) mounts {
	var list mounts
	for _, m := range c.VolumeMounts {
		below := m.SubPath
		if m.SubPathExpr != "" {
			below = expand(m.SubPathExpr, env)
		}
		if at := strings.TrimRight(m.MountPath, "/"); at != "" {
			list = append(list, mount{path.Clean(at), filepath.Join(p.volumeDir(m.Name), clean(below))})
		}
	}
	slices.SortStableFunc(list, func(a, b mount) int { return len(b.path) - len(a.path) })
	return list
}

// makeFolders makes the folders of a container's sub paths where a program may make files: in an emptyDir.
func (p *pod) makeFolders(list mounts) error {
	for _, v := range p.current().Spec.Volumes {
		if v.EmptyDir == nil {
			continue
		}
		for _, m := range list {
			if m.dir == p.volumeDir(v.Name) || strings.HasPrefix(m.dir, p.volumeDir(v.Name)+"/") {
				if err := os.MkdirAll(m.dir, 0o700); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// at returns the folder that the container sees at a path, or "" where nothing is mounted there.
func (list mounts) at(mountPath string) string {
	for _, m := range list {
		if m.path == mountPath {
			return m.dir
		}
	}
	return ""
}

// rewrite replaces the mount paths in a text by the folders. All are replaced in one pass: a folder of this machine may
// itself lie below /tmp.
func (list mounts) rewrite(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		m, found := list.startingAt(s, i)
		if !found {
			b.WriteByte(s[i])
			i++
			continue
		}
		b.WriteString(m.dir)
		i += len(m.path)
	}
	return b.String()
}

// What may stand before and behind a path in an argument or a variable.
const (
	beforePath = "=:,;@\"' \t\r\n"
	afterPath  = "/:,;\"' \t\r\n"
)

func (list mounts) startingAt(s string, i int) (mount, bool) {
	if i > 0 && !strings.ContainsRune(beforePath, rune(s[i-1])) {
		return mount{}, false
	}
	for _, m := range list {
		rest, ok := strings.CutPrefix(s[i:], m.path)
		if ok && (rest == "" || strings.ContainsRune(afterPath, rune(rest[0]))) {
			return m, true
		}
	}
	return mount{}, false
}
